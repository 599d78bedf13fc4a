/** `waybill console`: pages of this installation for a browser on this machine. */
import { DEFAULT_LISTEN, startConsole } from '../console/server.ts'
import { EXIT } from '../model/errors.ts'
import { NO_PROGRESS } from '../telemetry/progress.ts'
import type { Action } from './commands.ts'
import { countCases } from './mapping-try.ts'
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
    looking: { settingsFindings, servers: false, countCases: (name) => countCases(settings, name) },
    mappings: MAPPING_VIEWS,
    listener: () => createRunReporter(NO_PROGRESS, logger, now),
    onAddress: (url) => context.out(`Open once, in one browser: ${url}`),
  })
  if (!interrupt.aborted)
    await new Promise<void>((done) => {
      interrupt.addEventListener('abort', () => done())
    })
  await served.close()
  return EXIT.ok
}
