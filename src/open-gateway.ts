/** The gateway's interface for programs, as a client and served: with the clock and the ids that a program has. */
import { createGateway as connect, type Gateway, type GatewayOptions } from './gateway/gateway.ts'
import {
  type ReferenceGateway,
  type ReferenceGatewayOptions,
  startReferenceGateway as serve,
} from './reference-gateway/server.ts'

/** As `GatewayOptions`; the rest has defaults. */
export interface GatewaySettings
  extends Omit<GatewayOptions, 'accessToken' | 'now' | 'nextRequestId'>,
    Partial<Pick<GatewayOptions, 'now' | 'nextRequestId'>> {
  /** The bearer token, or what fetches it: asked at the first call that needs one, and again by `renewToken`. */
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
