/**
 * Waybill for programs: runs in the process of the caller, as the command line does; and the gateway's interface, as a client and as a server, with
 * the caller's clock and ids.
 */

import {
  type ReferenceGateway,
  type ReferenceGatewayOptions,
  startReferenceGateway as serve,
} from '../packages/reference-gateway/src/server.ts'
import { createApplication, programVersion } from './application.ts'
import { createGateway as connect, type Gateway, type GatewayOptions } from './gateway/gateway.ts'
import { createWaybill, type Waybill } from './runs/waybill.ts'
import { handedOn, readSettings } from './system/settings.ts'

export interface WaybillOptions {
  /** Folder of ledger, key, receipts and rejects. A missing folder is made, for its owner alone. */
  readonly home: string
  /** Folder of job files. */
  readonly jobs: string
  /** Folder of mapping files, with the catalog. */
  readonly mappings: string
  /**
   * Other settings by their names in docs/settings.md, like `WAYBILL_API_KEY`. `.env` and the environment of the process are not read, but for the
   * variables that commands of notifications need, like PATH.
   */
  readonly settings?: Readonly<Record<string, string>>
  /** Receives each line of the log; without a function, the lines are dropped. */
  readonly log?: (line: string) => void
  /** Aborts to stop: work in flight is finished, and the next run continues with the rest. */
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

/** As `GatewayOptions`; the rest has defaults. */
export interface GatewaySettings
  extends Omit<GatewayOptions, 'accessToken' | 'now' | 'nextRequestId'>,
    Partial<Pick<GatewayOptions, 'now' | 'nextRequestId'>> {
  /** The bearer token, or a function to fetch the token: called at the first call to the gateway with a token, and again by `renewToken`. */
  readonly accessToken: string | (() => Promise<string>)
}

/** @throws WaybillError `settings-invalid`: an address or a credential that cannot be used */
export const createGateway = ({ accessToken, ...settings }: GatewaySettings): Gateway =>
  connect({
    now: Date.now,
    nextRequestId: () => crypto.randomUUID(),
    ...settings,
    accessToken: typeof accessToken === 'string' ? async () => accessToken : accessToken,
  })

/** As `ReferenceGatewayOptions`; clock and ids have defaults. */
export type ReferenceGatewaySettings = Omit<ReferenceGatewayOptions, 'clock' | 'makeId'> &
  Partial<Pick<ReferenceGatewayOptions, 'clock' | 'makeId'>>

/**
 * A gateway on loopback, in memory, for the tests of a program: any key and token will do. It ends with `close`, or as `await using`.
 * @throws WaybillError `usage-wrong`: the port is taken, or a file cannot be used
 */
export async function startReferenceGateway(
  settings: ReferenceGatewaySettings = {},
): Promise<ReferenceGateway & AsyncDisposable> {
  const gateway = await serve({ clock: Date.now, makeId: () => crypto.randomUUID(), ...settings })
  return { ...gateway, [Symbol.asyncDispose]: () => gateway.close() }
}
