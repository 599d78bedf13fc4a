/** Waybill for programs: what the command line does with runs, without a process of its own. */
import { createApplication, programVersion } from './application.ts'
import { createWaybill, type Waybill } from './runs/waybill.ts'
import { handedOn, readSettings } from './settings.ts'

export interface WaybillOptions {
  /** Folder of ledger, key, receipts and rejects: made where it is not there, for its owner alone. */
  readonly home: string
  /** Folder of job files. */
  readonly jobs: string
  /** Folder of mapping files, with the catalog. */
  readonly mappings: string
  /**
   * Other settings by their names in docs/settings.md, like `WAYBILL_API_KEY`. Neither `.env` nor the environment of the process is read, but for
   * what commands of notifications need, like PATH.
   */
  readonly settings?: Readonly<Record<string, string>>
  /** Given each line of the log; without it they go nowhere. */
  readonly log?: (line: string) => void
  /** Aborted when what is on is to stop: what is under way is finished, and the next run goes on with the rest. */
  readonly signal?: AbortSignal
}

/**
 * Paths are relative to the working folder.
 * @throws WaybillError `settings-invalid`
 */
export async function openWaybill(options: WaybillOptions): Promise<Waybill> {
  const {
    home,
    jobs,
    mappings,
    settings = {},
    log = () => {},
    signal = new AbortController().signal,
  } = options
  const folders = { WAYBILL_HOME: home, WAYBILL_JOBS: jobs, WAYBILL_MAPPINGS: mappings }
  const environment = { ...handedOn(), ...settings, ...folders }
  return createWaybill(
    createApplication(programVersion(), readSettings(environment, process.cwd(), 'ignored'), log, signal),
  )
}
