import { fastify } from 'fastify'
import { WaybillError } from '../errors.ts'
import { createAccountStore } from './account-store.ts'
import { type RegisteredAgain, serveAccounts } from './accounts.ts'
import { serveBiometrics } from './biometrics.ts'
import { serveCareTeams } from './care-teams.ts'
import { serveConditions } from './conditions.ts'
import { serveControl } from './control.ts'
import { checkCredentials } from './credentials.ts'
import { readJsonBodies } from './json-body.ts'
import { answerError, Refusal } from './refusal.ts'
import { openStore } from './store.ts'
import { createTokenBook, type TokenOwner } from './token-book.ts'

const HOST = '127.0.0.1'
/** Characters of a path parameter; fastify's own bound of 100 would hide longer reference numbers. */
const LONGEST_PARAMETER = 4096
const EIGHT_MIB = 8 * 1024 * 1024

export interface ReferenceGatewayOptions {
  /** Port on loopback; 0 (the default) takes any free one. */
  readonly port?: number
  /** SQLite file that keeps what was stored; in memory where not given. */
  readonly dataFile?: string
  /** The API keys that pass; any where not given. */
  readonly apiKeys?: readonly string[]
  /** The bearer tokens that pass; any where not given. */
  readonly tokens?: readonly string[]
  /** The users that tokens stand for; these tokens pass too. */
  readonly tokenOwners?: Readonly<Record<string, TokenOwner>>
  /** Takes calls for accounts that are not registered: such an account comes into being. Default: 404. */
  readonly open?: boolean
  /** What the registration of a known partnerAccountId gets: `same` (default) 200 and its account id, `conflict` 409. */
  readonly registeredAgain?: RegisteredAgain
  /** Longest body in bytes; a longer one gets 413. Default 8 MiB. */
  readonly bodyLimit?: number
  /** Epoch milliseconds, for the dates of creation. */
  readonly clock: () => number
  /** A new id at every call, for accounts and records. */
  readonly makeId: () => string
}

/** A reference gateway that is listening. */
export interface ReferenceGateway {
  /** `http://127.0.0.1:PORT`, without a slash at its end: the interface's {base_url}. */
  readonly url: string
  /** Ends what is under way, stops listening and closes the store. */
  close(): Promise<void>
}

/**
 * Serves the interface on loopback, as far as accounts and the health profile go, and `/_reference` (`control.ts`).
 * It stores exactly what it is sent: nothing is idempotent. A batch is stored whole or not at all.
 * Throws `usage-wrong` where the data file cannot be used or the port is taken.
 */
export async function startReferenceGateway(options: ReferenceGatewayOptions): Promise<ReferenceGateway> {
  const { clock, makeId, registeredAgain = 'same', open = false } = options
  const store = openStore(options.dataFile)
  const accounts = createAccountStore(store, { open, clock, makeId })

  const tokens = createTokenBook(options.tokens, options.tokenOwners)

  const app = fastify({ routerOptions: { maxParamLength: LONGEST_PARAMETER } })
  readJsonBodies(app, options.bodyLimit ?? EIGHT_MIB)
  app.setErrorHandler(answerError)
  app.setNotFoundHandler(() => {
    throw new Refusal(404, [{ message: 'path: not served here' }])
  })
  app.addHook('onClose', () => store.close())

  serveControl(app, store)
  app.addHook('onRequest', checkCredentials(options.apiKeys, tokens))
  serveAccounts(app, accounts, { registeredAgain, clock })
  serveBiometrics(app, store, accounts, { clock, makeId })
  serveConditions(app, store, accounts, { clock, makeId })
  serveCareTeams(app, store, accounts, { clock, makeId })

  try {
    const url = await app.listen({ host: HOST, port: options.port ?? 0 })
    return { url, close: () => app.close() }
  } catch (cause) {
    await app.close()
    throw new WaybillError(
      'usage-wrong',
      `the reference gateway cannot listen on port ${options.port} of ${HOST}`,
      {
        remedy: 'Name another port with --port, or end what listens there.',
        cause,
      },
    )
  }
}
