/** `waybill console`: pages of this installation for a browser on this machine. */
import { readFile } from 'node:fs/promises'
import type { ListenPlace } from '../console/door.ts'
import { DEFAULT_LISTEN, startConsole } from '../console/server.ts'
import { EXIT, reasonOf, WaybillError } from '../model/errors.ts'
import type { Settings } from '../system/settings.ts'
import { NO_PROGRESS } from '../telemetry/progress.ts'
import type { Action } from './commands.ts'
import { countCases } from './mapping-check.ts'
import { MAPPING_VIEWS } from './mapping-views.ts'
import { createRunReporter } from './run-reporter.ts'

export const serveConsole: Action<'console'> = async (
  context,
  { listen = DEFAULT_LISTEN, readOnly, healthData },
) => {
  const { settings, settingsFindings, logger, now, interrupt } = context
  const served = await startConsole({
    application: context,
    listen,
    isReadOnly: readOnly === true,
    showsValues: healthData === true,
    tls: await readTls(settings),
    looking: { settingsFindings, servers: false, countCases: (name) => countCases(settings, name) },
    mappings: MAPPING_VIEWS,
    listener: () => createRunReporter(NO_PROGRESS, logger, now),
    onAddress: (url) => context.out([...socketHint(listen), `Open once, in one browser: ${url}`]),
  })
  if (settings.consoleProxySecret !== undefined || settings.consoleIssuer !== undefined)
    context.out(`The console listens on ${served.address}`)
  if (!interrupt.aborted)
    await new Promise<void>((done) => {
      interrupt.addEventListener('abort', () => done())
    })
  await served.close()
  return EXIT.ok
}

const socketHint = (listen: ListenPlace): string[] =>
  'socket' in listen ? [`Forward a port of your machine: ssh -L PORT:${listen.socket} HOST`] : []

/** @throws `settings-invalid` for a file that cannot be read */
async function readTls({ consoleTlsCert, consoleTlsKey }: Settings) {
  if (consoleTlsCert === undefined || consoleTlsKey === undefined) return undefined
  const read = (key: string, file: string): Promise<string> =>
    readFile(file, 'utf8').catch((cause: unknown) => {
      const message = `cannot be read: ${reasonOf(cause)}`
      throw new WaybillError('settings-invalid', `${key} ${message}`, {
        findings: [{ place: { key, file }, message }],
        cause,
      })
    })
  return {
    cert: await read('WAYBILL_CONSOLE_TLS_CERT', consoleTlsCert),
    key: await read('WAYBILL_CONSOLE_TLS_KEY', consoleTlsKey),
  }
}
