/** The lines of the log that are about a run, out of the log file and those that were put aside. */
import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { WaybillError } from '../model/errors.ts'
import type { LogFile } from '../telemetry/logger.ts'
import { nameRun } from './amend-run.ts'
import { type Application, withKnownLedger } from './application.ts'

const Line = z.looseObject({
  timestamp: z.string(),
  level: z.string(),
  message: z.string(),
  run: z.string().optional(),
})
export type LogLine = z.infer<typeof Line>

/**
 * Oldest first.
 * @param name of the run; undefined: the latest
 * @throws WaybillError `run-not-found`; `log-not-found` where no log file is kept, or none is there
 */
export async function* logOfRun(application: Application, name = 'latest'): AsyncGenerator<LogLine> {
  const { id } = await withKnownLedger(application, (ledger) => nameRun(ledger, name))
  for (const file of filesOf(application.settings.logFile)) {
    const lines = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })
    for await (const text of lines) {
      // Most lines are of other runs: they need not be parsed.
      if (!text.includes(id)) continue
      const line = parsed(text)
      if (line?.run === id) yield line
    }
  }
}

function filesOf(logFile: LogFile | undefined): string[] {
  if (logFile === undefined)
    throw new WaybillError('log-not-found', 'no log file is kept: WAYBILL_LOG_FILE is not set')
  const { path, files } = logFile
  const aside = Array.from({ length: files - 1 }, (_, at) => `${path}.${files - 1 - at}`)
  const there = [...aside, path].filter((file) => existsSync(file))
  if (there.length > 0) return there
  throw new WaybillError('log-not-found', `there is no log file ${path}`, { place: { file: path } })
}

/** Undefined for what another program has written into the file. */
function parsed(text: string): LogLine | undefined {
  try {
    return Line.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
