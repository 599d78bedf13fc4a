import type { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { type FastifyInstance, fastify } from 'fastify'
import { z } from 'zod'
import { AccountReferenceType } from '../../../src/gateway/contract/account.ts'
import { WaybillError } from '../../../src/model/errors.ts'
import { createAccountStore, type RegisteredAgain, serveAccounts } from './accounts.ts'
import {
  createAssessmentStore,
  readAssessment,
  serveAgeAssessment,
  serveAssessmentPages,
} from './age-assessment.ts'
import { serveCareTeams } from './care-teams.ts'
import { serveContent } from './content.ts'
import {
  checkControlSecret,
  checkCredentials,
  createTokenBook,
  type TokenBook,
  type TokenOwner,
} from './credentials.ts'
import { createFaultBook, type FaultPlan, serveFaultControl } from './fault-plan.ts'
import { inflictFaults } from './inflict-faults.ts'
import { readRequestTypes, serveRequester } from './medical-records.ts'
import { serveBiometrics, serveConditions } from './observations.ts'
import { serveOpenApi } from './openapi.ts'
import {
  answerError,
  answerRequesterError,
  checked,
  endUnfinishedRequests,
  Refusal,
  readJsonBodies,
  refuseConnection,
} from './refusal.ts'
import {
  countRows,
  findRecords,
  listOccurrences,
  listRecords,
  listRequests,
  listTests,
  openStore,
  type StoredRecord,
  type Table,
} from './store.ts'

const HOST = '127.0.0.1'
/** Maximum length of a path parameter; fastify's limit of 100 would hide longer reference numbers. */
const LONGEST_PARAMETER = 4096
const EIGHT_MIB = 8 * 1024 * 1024
/** Default limit for documents, in bytes. */
const LONGEST_DOCUMENT = 32 * 1024 * 1024
/** Section "Limits": lifetime of authorizationUploadUrl. */
const THIRTY_MINUTES_MS = 30 * 60_000

export interface ReferenceGatewayOptions {
  /** Port on loopback; 0 (the default) takes any free one. */
  readonly port?: number
  /** SQLite file for the stored data; in memory by default. */
  readonly dataFile?: string | undefined
  /**
   * Required value of the header X-Control-Secret on paths outside the interface (`/_reference`, `/openapi.json`). Default: not required.
   */
  readonly controlSecret?: string | undefined
  /** Valid API keys. Default: any. */
  readonly apiKeys?: readonly string[] | undefined
  /** Valid bearer tokens. Default: any. */
  readonly tokens?: readonly string[] | undefined
  /** Users of tokens; these tokens are valid too. */
  readonly tokenOwners?: Readonly<Record<string, TokenOwner>> | undefined
  /** YAML file with the age assessment to serve, in the form of `definitions/assessment.yaml` (the default). */
  readonly assessmentFile?: string | undefined
  /** Creates an account when a call names an unregistered one. Default: 404. */
  readonly open?: boolean
  /** Answer to registering a known partnerAccountId: `same` (default) 200 and its account id, `conflict` 409. */
  readonly registeredAgain?: RegisteredAgain
  /** Faults to inject. Default: none. `/_reference/faults` replaces them. */
  readonly faults?: FaultPlan | undefined
  /** Maximum body in bytes; a longer body gets 413. Default 8 MiB, and 32 MiB for a document. */
  readonly bodyLimit?: number
  /** Lifetime of an upload address, in milliseconds. Default 30 minutes. */
  readonly uploadLifetimeMs?: number
  /** Version of the program, for `/openapi.json`. Default `0`. */
  readonly version?: string
  /** Returns epoch milliseconds. */
  readonly clock: () => number
  /** Returns a new id at every call, for accounts and records. */
  readonly makeId: () => string
}

/** Running reference gateway. */
export interface ReferenceGateway {
  /** `http://127.0.0.1:PORT`, without a trailing slash: the interface's {base_url}. */
  readonly url: string
  /** Ends requests in flight, stops listening and closes the store. */
  close(): Promise<void>
}

/**
 * Serves the interface on loopback, with `/openapi.json`, and the control endpoints under `/_reference` (`fault-plan.ts`). Stores
 * everything exactly as sent: nothing is idempotent. Stores a batch whole or not at all.
 *
 * @throws WaybillError `usage-wrong` if the data file or the assessment file cannot be used, or the port is taken
 */
export async function startReferenceGateway(options: ReferenceGatewayOptions): Promise<ReferenceGateway> {
  const { clock, makeId, registeredAgain = 'same', open = false } = options
  const { bodyLimit = EIGHT_MIB, uploadLifetimeMs = THIRTY_MINUTES_MS } = options
  const assessment = await readAssessment(options.assessmentFile)
  const requestTypes = await readRequestTypes()
  const store = openStore(options.dataFile)
  const accounts = createAccountStore(store, { open, clock, makeId })
  const assessments = createAssessmentStore(store, makeId)

  const tokens = createTokenBook(options.tokens, options.tokenOwners)

  const app = fastify({
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    clientErrorHandler: refuseConnection,
    // For an undecodable or overlong path. Fastify's own message would quote the path.
    frameworkErrors: (_, request, reply) => {
      const refusal = new Refusal(400, [{ message: 'path: cannot be read' }])
      if (request.url.startsWith('/medical-records/')) answerRequesterError(refusal, request, reply)
      else answerError(refusal, request, reply)
    },
  })
  readJsonBodies(app, bodyLimit)
  app.setErrorHandler(answerError)
  app.setNotFoundHandler(() => {
    throw new Refusal(404, [{ message: 'path: not served here' }])
  })
  app.addHook('onClose', () => store.close())
  endUnfinishedRequests(app)

  if (options.controlSecret !== undefined) app.addHook('onRequest', checkControlSecret(options.controlSecret))
  serveControl(app, store, tokens)
  serveOpenApi(app, options.version ?? '0')
  const faults = createFaultBook(options.faults, clock)
  serveFaultControl(app, faults)
  app.addHook('onRequest', checkCredentials(options.apiKeys, tokens))
  inflictFaults(app, faults, { clock, makeId, tokens, accounts })
  const parts = { app, store, accounts, clock, makeId }
  serveAccounts(parts, registeredAgain)
  serveBiometrics(parts)
  serveConditions(parts)
  serveCareTeams(parts)
  serveAgeAssessment(parts, assessment, assessments)
  serveAssessmentPages(parts, assessment, assessments, tokens)
  serveContent(app)
  const documentLimit = options.bodyLimit ?? LONGEST_DOCUMENT
  serveRequester(
    { ...parts, uploadLifetimeMs, bodyLimit: documentLimit, url: () => app.listeningOrigin },
    requestTypes,
  )

  try {
    const url = await app.listen({ host: HOST, port: options.port ?? 0 })
    return { url, close: () => app.close() }
  } catch (cause) {
    await app.close()
    const message = `the reference gateway cannot listen on port ${options.port} of ${HOST}`
    const remedy = 'Name another port with --port, or end the process on this port.'
    throw new WaybillError('usage-wrong', message, { remedy, cause })
  }
}

const TABLES = {
  biometric: 'biometrics',
  condition: 'conditions',
  careTeam: 'care_teams',
} as const satisfies Record<string, Table>
type Kind = keyof typeof TABLES
const KINDS = Object.keys(TABLES) as readonly Kind[]

const OfProfile = z.object({ kind: z.enum(['biometric', 'condition', 'careTeam']) })
const RecordsQuery = z.object({
  kind: z.enum([...OfProfile.shape.kind.options, 'medicalRecords', 'assessment']),
})
const OccurrencesQuery = OfProfile.extend({ min: z.coerce.number().int().min(1).default(1) })
const RecordQuery = z.object({ transactionId: z.string().min(1) })
const Binding = z.object({
  token: z.string().regex(/^\S+$/, 'Expected a bearer token, without spaces'),
  account: z.object({ reference: z.string().min(1), type: AccountReferenceType }),
})

/**
 * Serves the stored data, for tests and trials. The paths are not part of the interface and need no credentials:
 * - `GET /_reference/counts`: the number of accounts and of records per kind; `authorization`: uploaded documents;
 * - `GET /_reference/records?kind=`: NDJSON, each record as sent, in order, with `_account` and `_storedAt`; medical-records requests have
 * `_authorization` (its SHA-256, or null) and `_storedAt`; tests have the answers chosen, with `_account` and `_storedAt`;
 * - `GET /_reference/record?transactionId=`: a JSON array of the records with this transaction id or persistent record id, each with
 * `_kind` too;
 * - `GET /_reference/occurrences?kind=&min=`: NDJSON, `id` and `times` for each transaction id (for care teams: persistent record id)
 * stored at least `min` times (default 1); `min=2` lists duplicates;
 * - `POST /_reference/tokens` with `token` and `account` (`reference`, `type`): makes the token valid, and binds it to the user in the
 * paged test. 204. The account need not be registered yet.
 */
function serveControl(app: FastifyInstance, store: DatabaseSync, tokens: TokenBook): void {
  app.post('/_reference/tokens', async (request, reply) => {
    const result = checked(Binding, request.body, 'body')
    tokens.bind(result.token, result.account)
    return reply.code(204).send()
  })

  app.get('/_reference/counts', async () => ({
    account: countRows(store, 'accounts'),
    ...Object.fromEntries(KINDS.map((kind) => [kind, countRows(store, TABLES[kind])])),
    medicalRecords: countRows(store, 'medical_records_requests'),
    authorization: countRows(store, 'medical_records_requests', 'authorization IS NOT NULL'),
    assessment: countRows(store, 'assessments'),
  }))

  app.get('/_reference/records', async (request, reply) => {
    const { kind } = checked(RecordsQuery, request.query, 'query')
    const send = (text: Iterable<string>) => reply.type('application/x-ndjson').send(Readable.from(text))
    if (kind === 'medicalRecords') return send(lines(listRequests(store), JSON.stringify))
    if (kind === 'assessment') return send(lines(listTests(store), JSON.stringify))
    return send(lines(listRecords(store, TABLES[kind]), (record) => annotated(record, {})))
  })

  app.get('/_reference/occurrences', async (request, reply) => {
    const result = checked(OccurrencesQuery, request.query, 'query')
    const { kind, min } = result
    return reply
      .type('application/x-ndjson')
      .send(Readable.from(lines(listOccurrences(store, TABLES[kind], min), JSON.stringify)))
  })

  app.get('/_reference/record', async (request, reply) => {
    const result = checked(RecordQuery, request.query, 'query')
    const found = KINDS.flatMap((kind) =>
      findRecords(store, TABLES[kind], result.transactionId).map((record) =>
        annotated(record, { _kind: kind }),
      ),
    )
    return reply.type('application/json; charset=utf-8').send(`[${found.join(',')}]`)
  })
}

/** Gathers lines into pieces of about 64 KiB. */
function* lines<Item>(items: Iterable<Item>, textOf: (item: Item) => string): Generator<string> {
  let piece = ''
  for (const item of items) {
    piece += `${textOf(item)}\n`
    if (piece.length < 65_536) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}

/** Appends control fields to the record's text. A record is never empty: the contract requires fields. */
function annotated({ body, account, storedMs }: StoredRecord, more: Record<string, string>): string {
  return `${body.slice(0, -1)},${JSON.stringify({ ...more, _account: account, _storedAt: storedMs }).slice(1)}`
}
