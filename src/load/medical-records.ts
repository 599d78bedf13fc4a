/**
 * Loads a chunk of medical-records requests: upserts in batches, uploads the authorization right after the answer with the address, and withdraws
 * (interface, "Medical-records requester"). An upsert and an upload are idempotent, so no answer leaves a doubt to settle by reading. The address of
 * an upload is a credential: it is held only during use.
 */
import { z } from 'zod'
import type {
  MedicalRecordsRequestReturned,
  MedicalRecordsRequestType,
} from '../gateway/contract/medical-records.ts'
import type { EnvelopeError } from '../gateway/contract/shared-objects.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { type AnswerClass, GatewayError, orRefusal } from '../gateway/gateway-error.ts'
import type { UpsertAnswer } from '../gateway/medical-records.ts'
import type { KnownRequest, Ledger, RunLedger } from '../ledger/ledger.ts'
import { type Entry, RequestEntry } from '../model/entry.ts'
import { allDone, WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import { type EntryOutcome, Outcomes } from '../model/outcome.ts'
import type { BatchLimits } from './batches.ts'
import { placeOfWord } from './care-team-slot.ts'
import { refusalWords, rejection, type Words } from './gateway-words.ts'
import { bodyOf, lastOfEach, stepOf, typeFault, type WantedRequest } from './medical-request-state.ts'
import { sendInParts } from './refused-batch.ts'
import type { Sending } from './sending.ts'

/** Folder of authorizations. */
export interface Authorizations {
  /** @returns `ready`, `absent`, or the fault of the file */
  look(name: string): Promise<string>
  /** @returns undefined without a file. @throws where the file is unreadable */
  read(name: string): Promise<Uint8Array | undefined>
}

interface MedicalRecordsContext {
  readonly gateway: Pick<Gateway, 'medicalRecords'>
  /** Name of the gateway in the ledger: its address. */
  readonly gatewayName: string
  readonly ledger: Pick<Ledger, 'people'>
  readonly runLedger: Pick<RunLedger, 'saveMedicalRequests' | 'lease'>
  readonly sending: Pick<Sending, 'idempotent' | 'read'>
  readonly identity: Pick<Identity, 'request' | 'requestBody'>
  readonly authorizations: Authorizations
  /** Hosts that may receive authorizations, beside the gateway's own. */
  readonly uploadHosts: readonly string[]
  readonly limits: BatchLimits
  /** Request types on offer: read before the first request of a run is sent. */
  readonly types: { read?: Promise<readonly MedicalRecordsRequestType[]> | undefined }
}

/** Most requests in one upsert: the page size in the interface's sample of a search, since no limit is documented. */
const MOST_AT_ONCE = 100

interface ToSubmit extends WantedRequest {
  readonly known: KnownRequest | undefined
  /** State of the authorization in the folder; undefined where the mapping has none. */
  readonly authorization: string | undefined
}

/** @param arrival of the export. @throws WaybillError where the run must stop */
export async function loadMedicalRecords(
  context: MedicalRecordsContext,
  entries: readonly Entry[],
  arrival: number,
): Promise<readonly EntryOutcome[]> {
  const { identity, ledger, runLedger, gatewayName, authorizations } = context
  const { runId } = runLedger.lease
  const outcomes = new Outcomes()
  const { last, earlier } = lastOfEach(wantedRequests(entries, identity, arrival))
  outcomes.note(earlier.map(({ one: { entry }, isOther }) => unchanged(entry, isOther)))
  const known = await ledger.people.medicalRequests(
    gatewayName,
    last.map(({ reference }) => reference),
  )
  const heardAgain: KnownRequest[] = []
  const toSubmit: ToSubmit[] = []
  const toWithdraw: WantedRequest[] = []
  for (const wanted of last) {
    const { entry, request } = wanted
    const before = known.get(wanted.reference)
    const step = stepOf(before, wanted, runId)
    if (step === 'withdraw') {
      toWithdraw.push(wanted)
      continue
    }
    if (step === 'submit') {
      const file = request.authorization
      const authorization = file === undefined ? undefined : await authorizations.look(file)
      const isSent = before?.state === 'awaiting' && before.content === wanted.content
      // The request is sent already, and an address is useless without a document.
      if (isSent && authorization !== undefined && authorization !== 'ready')
        outcomes.note([awaiting(entry, authorization)])
      else toSubmit.push({ ...wanted, known: before, authorization })
      continue
    }
    if (step === 'unchanged' && before !== undefined && before.heardAt < wanted.heardAt)
      heardAgain.push({ ...before, heardAt: wanted.heardAt, run: null })
    outcomes.note([step === 'accepted' ? accepted(entry) : unchanged(entry, step === 'outdated')])
  }
  if (heardAgain.length > 0) await runLedger.saveMedicalRequests(gatewayName, heardAgain)
  outcomes.note(await refuseTypes(context, toSubmit))
  const offered = toSubmit.filter(({ entry }) => outcomes.of(entry) === undefined)
  const atOnce = Math.min(MOST_AT_ONCE, context.limits.records)
  const batches: ToSubmit[][] = []
  for (let start = 0; start < offered.length; start += atOnce)
    batches.push(offered.slice(start, start + atOnce))
  const ended = await allDone([
    ...batches.map((batch) => submit(context, batch)),
    ...toWithdraw.map(async (one) => [await withdraw(context, one, known.has(one.reference))]),
  ])
  outcomes.note(ended.flat())
  return outcomes.all()
}

const accepted = (entry: Entry, status: number | null = null) => ({
  entry,
  outcome: 'accepted' as const,
  batchId: null,
  status,
})

const unchanged = (entry: Entry, isOutdated: boolean): EntryOutcome => ({
  entry,
  outcome: 'unchanged',
  ...(isOutdated ? { passedOver: 'outdated' } : {}),
})

/** Rejects requests of types that the gateway does not offer: the gateway never processes them. */
async function refuseTypes(
  { types, sending, gateway }: MedicalRecordsContext,
  toSubmit: readonly ToSubmit[],
): Promise<EntryOutcome[]> {
  if (toSubmit.length === 0) return []
  types.read ??= sending.read('list request types', () => gateway.medicalRecords.requestTypes())
  const offered = await orRefusal(types.read)
  if (offered instanceof GatewayError) {
    types.read = undefined
    const words = refusalWords(offered)
    return toSubmit.map(({ entry }) => rejection(entry, null, 'request-types-unreadable', words))
  }
  return toSubmit.flatMap((one) => {
    const fault = typeFault(bodyOf(one, isNew(one)), offered)
    return fault === undefined ? [] : [rejection(one.entry, null, 'request-type-unknown', { ours: fault })]
  })
}

const isNew = ({ known }: ToSubmit): boolean => known === undefined || known.state === 'withdrawn'

async function submit(
  context: MedicalRecordsContext,
  batch: readonly ToSubmit[],
  namesHold?: Promise<boolean>,
): Promise<EntryOutcome[]> {
  const [only] = batch
  if (only === undefined) return []
  const refused = async (code: string, words: Words, refusal?: unknown): Promise<EntryOutcome[]> => {
    if (batch.length === 1) return [rejection(only.entry, null, code, words)]
    return sendInParts(batch, {
      refusal,
      namesHold,
      idOf: ({ request }) => request.reference,
      send: (part, hold) => submit(context, part, hold),
      isRefused: ({ outcome }) => outcome === 'rejected',
    })
  }
  const answer = await orRefusal(upsert(context, batch))
  if (answer instanceof GatewayError) {
    const isTooLarge = answer.class === 'too-large'
    return refused(isTooLarge ? 'too-large' : 'refused', refusalWords(answer), answer.refusal)
  }
  // An error listed in an answer of success may concern any request of the batch.
  if (answer.errors.length > 0) {
    const theirs = answer.errors.map(wordsOf).join('; ')
    return refused('listed-as-error', { ours: '', theirs }, answer.errors)
  }
  const returned = new Map(answer.requests.map((one) => [one.referenceNumber, one]))
  if (batch.some(({ request }) => !returned.has(request.reference))) return refused('not-echoed', NOT_ECHOED)
  await save(context, batch, ({ authorization, known }) =>
    // A document uploaded once stays with the request, even if the file goes.
    authorization === undefined || (authorization === 'absent' && known?.state === 'complete')
      ? 'complete'
      : 'awaiting',
  )
  return allDone(
    batch.map(async (one): Promise<EntryOutcome> => {
      const { entry, authorization, known } = one
      const isDone = authorization === 'absent' && known?.state === 'complete'
      if (authorization !== undefined && authorization !== 'ready' && !isDone)
        return awaiting(entry, authorization)
      const refused =
        authorization === 'ready' && (await upload(context, one, returned.get(one.request.reference)))
      return refused || accepted(entry, answer.status)
    }),
  )
}

const wordsOf = (error: EnvelopeError): string => {
  const words = typeof error === 'string' ? error : error.message
  return typeof words === 'string' ? words : ''
}

const NOT_ECHOED: Words = { ours: 'the gateway answered with success, but did not name the request' }

const upsert = (
  { sending, gateway }: MedicalRecordsContext,
  batch: readonly ToSubmit[],
): Promise<UpsertAnswer> =>
  sending.idempotent('ask for medical records', () =>
    gateway.medicalRecords.upsert(batch.map((one) => bodyOf(one, isNew(one)))),
  )

const save = <One extends WantedRequest>(
  { runLedger, gatewayName }: MedicalRecordsContext,
  requests: readonly One[],
  stateOf: (one: One) => KnownRequest['state'],
): Promise<void> =>
  runLedger.saveMedicalRequests(
    gatewayName,
    requests.map((one) => ({
      reference: one.reference,
      content: one.content,
      heardAt: one.heardAt,
      state: stateOf(one),
      run: runLedger.lease.runId,
    })),
  )

function awaiting(entry: Entry, found: string): EntryOutcome {
  return found === 'absent'
    ? rejection(entry, null, 'awaiting-authorization', {
        ours: 'the request is sent; its authorization is not in the folder yet',
      })
    : rejection(entry, null, 'authorization-unusable', {
        ours: `the request is sent; its authorization ${found}`,
      })
}

/**
 * Uploads an authorization. An address lives for 30 minutes: after a refusal, one new address is requested.
 * @returns undefined where the gateway has the document
 */
async function upload(
  context: MedicalRecordsContext,
  one: ToSubmit,
  returned: MedicalRecordsRequestReturned | undefined,
): Promise<EntryOutcome | undefined> {
  const { sending, gateway, authorizations } = context
  const { entry, request } = one
  const send = (address: string): Promise<boolean> =>
    sending.idempotent('upload an authorization', async () => {
      // Held during the upload only: many documents are large.
      const pdf = await authorizations.read(request.authorization ?? '')
      if (pdf === undefined) return false
      await gateway.medicalRecords
        .uploadAuthorization(address, pdf, context.uploadHosts)
        .catch((error: unknown) => {
          throw error instanceof GatewayError ? ofTheStore(error) : error
        })
      return true
    })
  let words: Words = { ours: 'the gateway gave no upload address for the authorization' }
  let address = addressOf(returned)
  for (let asked = 0; ; asked++) {
    if (address !== undefined) {
      try {
        if (!(await send(address))) return awaiting(entry, 'absent')
        await save(context, [one], () => 'complete')
        return undefined
      } catch (error) {
        if (error instanceof WaybillError && error.code === 'usage-wrong') {
          const found = await authorizations.look(request.authorization ?? '')
          if (found !== 'ready') return awaiting(entry, found)
          words = { ours: error.message }
        } else if (error instanceof GatewayError) words = refusalWords(error)
        else throw error
      }
    }
    if (asked > 0) return rejection(entry, null, 'authorization-refused', words)
    const renewed = await orRefusal(upsert(context, [one]))
    if (renewed instanceof GatewayError) return rejection(entry, null, 'authorization-refused', words)
    address = addressOf(renewed.requests[0])
  }
}

/**
 * Reclassifies an error of the document store, which may be another host: a refusal says nothing about our credentials, and silence nothing about the
 * gateway.
 */
function ofTheStore(error: GatewayError): GatewayError {
  const says = OF_THE_STORE[error.class]
  return says === undefined ? error : new GatewayError(error.message, { ...error, class: says, cause: error })
}

const OF_THE_STORE: Partial<Record<AnswerClass, AnswerClass>> = {
  'stale-token': 'refused',
  'not-allowed': 'refused',
  'not-sent': 'ambiguous',
}

const addressOf = (returned: MedicalRecordsRequestReturned | undefined): string | undefined => {
  const address = returned?.authorizationUploadUrl
  return typeof address === 'string' && address !== '' ? address : undefined
}

/** Deletes a request. A refusal leaves open whether the request is gone or processed. A search decides; a failed search counts as present. */
async function withdraw(
  context: MedicalRecordsContext,
  wanted: WantedRequest,
  isKnown: boolean,
): Promise<EntryOutcome> {
  const { sending, gateway } = context
  const { entry, request } = wanted
  const gone = async (outcome: EntryOutcome): Promise<EntryOutcome> => {
    await save(context, [wanted], () => 'withdrawn')
    return outcome
  }
  const call = () => gateway.medicalRecords.delete(request.reference)
  const deleted = await orRefusal(sending.idempotent('withdraw a request', call))
  if (!(deleted instanceof GatewayError)) return gone(accepted(entry))
  if ((await orRefusal(search(context, wanted))) !== false)
    return rejection(entry, null, 'withdrawal-refused', refusalWords(deleted))
  return gone(isKnown ? { ...accepted(entry), readBack: true } : unchanged(entry, false))
}

const Sought = z.looseObject({
  patient: z.looseObject({ firstName: z.string(), lastName: z.string(), dob: z.string() }),
  request: z.looseObject({ requestType: z.string(), requestSubType: z.string() }),
})

async function search(
  { sending, gateway }: MedicalRecordsContext,
  { request }: WantedRequest,
): Promise<boolean> {
  const { patient, request: asked } = Sought.parse(JSON.parse(request.body))
  const { firstName, lastName, dob } = patient
  const filter = [
    {
      patient: { firstName, lastName, dob },
      request: { type: asked.requestType, subType: asked.requestSubType },
    },
  ]
  const found = gateway.medicalRecords.requests(filter, (ask) =>
    sending.read('search medical-records requests', ask),
  )
  for await (const { referenceNumber } of found) if (referenceNumber === request.reference) return true
  return false
}

/** @param arrival of the export */
const wantedRequests = (
  entries: readonly Entry[],
  identity: Pick<Identity, 'request' | 'requestBody'>,
  arrival: number,
): WantedRequest[] =>
  entries.flatMap((entry) => {
    if (!(entry instanceof RequestEntry)) return []
    const { request, row } = entry
    const reference = identity.request(request.reference)
    const content = identity.requestBody(request.body)
    return [{ entry, request, reference, content, heardAt: placeOfWord(arrival, row.row) }]
  })
