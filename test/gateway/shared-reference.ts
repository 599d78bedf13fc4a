import { ok } from 'node:assert/strict'
import { startReferenceGateway } from '../../src/reference-gateway/server.ts'
import type { FaultGiven } from '../reference-gateway/faults/struck-gateway.ts'
import { REGISTRATION } from './sample-records.ts'

/** The clock of gateway and client stands here, so that a Retry-After date is a number of milliseconds. */
export const NOW = Date.UTC(2024, 6, 1)
/** The bearer token of the client. */
export const TOKEN = 'the-token'
/** A token that no fault expires. */
const OBSERVER = 'the-observer'

export type RecordKind = 'biometric' | 'condition' | 'careTeam'

export interface FoundRequest {
  readonly referenceNumber: string
  readonly status: { readonly documentAvailable: boolean }
}

export const account = (reference: string) => ({ reference, type: 'partnerAccountId' }) as const

const REQUESTER = '/medical-records/requester'
const TEAMS = '/health-profile/care-teams'
const ofAccount = (reference: string) => `accountReference=${reference}&accountReferenceType=partnerAccountId`

/**
 * A reference gateway for many cases one after the other: what it holds is asked for without faults, and forgotten with
 * `endCase`. Requests for medical records stay; each case has its own patient.
 */
export async function startSharedReference() {
  let ids = 0
  const gateway = await startReferenceGateway({ clock: () => NOW, makeId: () => `id-${++ids}` })
  const accounts = new Set<string>()
  let isTokenExpired = false

  const ask = (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(gateway.url + path, {
      method,
      headers: {
        'x-api-key': 'the-key',
        authorization: `Bearer ${OBSERVER}`,
        ...(path.startsWith('/assessments') ? { 'x-api-version': '1.0' } : {}),
        ...(path.startsWith(REQUESTER) ? { 'x-api-version': '1.0.0' } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const text = async (method: string, path: string, body?: unknown): Promise<string> => {
    const answer = await ask(method, path, body)
    const told = await answer.text()
    ok(answer.ok, `${method} ${path}: ${answer.status} ${told}`)
    return told
  }
  const json = async (method: string, path: string, body?: unknown) =>
    JSON.parse(await text(method, path, body))
  const lines = async (path: string) =>
    (await text('GET', path))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  /** The items of an envelope's `data`. */
  const data = async (method: string, path: string, body?: unknown) => (await json(method, path, body)).data

  const bind = (token: string, reference: string) =>
    text('POST', '/_reference/tokens', { token, account: account(reference) })
  const counts = (): Promise<Record<RecordKind | 'account', number>> => json('GET', '/_reference/counts')

  return {
    url: gateway.url,
    close: gateway.close,
    counts,
    /** To be forgotten with the case, where it comes to be registered. */
    willBeRegistered: (reference: string) => accounts.add(reference),
    register: async (reference: string): Promise<void> => {
      accounts.add(reference)
      await text('POST', '/account/register', { ...REGISTRATION, partnerAccountId: reference })
    },
    /** Lets the client's token pass, for this user. */
    bindToken: async (reference: string): Promise<void> => {
      await bind(TOKEN, reference)
    },
    addCareTeam: async (record: object): Promise<void> => {
      await data('POST', TEAMS, [record])
    },
    mark: async (reference: string): Promise<void> => {
      await data('POST', `${TEAMS}/pcp`, { account: account(reference), npi: reference })
    },
    /** Whether the account is registered: its records can be read. */
    knows: async (reference: string): Promise<boolean> => {
      const { status } = await ask('GET', `/health-profile/biometrics?${ofAccount(reference)}`)
      ok(status === 200 || status === 404, `a read was answered ${status}`)
      return status === 200
    },
    hasCareTeam: async (reference: string): Promise<boolean> =>
      (await data('GET', `${TEAMS}?${ofAccount(reference)}`)).length > 0,
    /** Whether the user's one care team entry is the primary care physician. */
    isMarked: async (reference: string): Promise<boolean> =>
      (await data('GET', `${TEAMS}?${ofAccount(reference)}`))[0].pcp,
    /** Number of the page that the user is to answer next. */
    pageOf: async (reference: string): Promise<string> => {
      await bind(OBSERVER, reference)
      return (await data('GET', '/assessments/bioage'))[0].pageNumber
    },
    /** Gives the address for the authorization. */
    upsert: async (request: object): Promise<string> =>
      (await data('PATCH', REQUESTER, [request]))[0].authorizationUploadUrl,
    requestsOf: async (lastName: string): Promise<readonly FoundRequest[]> => {
      const filter = [{ patient: { lastName }, request: { type: '', subType: '' } }]
      return (await data('POST', REQUESTER, { page: 1, limit: 100, filter }))[0].results
    },
    /**
     * How often each record of a kind is there, as counts, records and occurrences say alike.
     * @param ownerOf the account under which a record must be stored; undefined where it is of no concern
     */
    held: async (
      kind: RecordKind,
      ownerOf: (id: string) => string | undefined,
    ): Promise<Readonly<Record<string, number>>> => {
      const [counted, records, occurrences] = await Promise.all([
        counts(),
        lines(`/_reference/records?kind=${kind}`),
        lines(`/_reference/occurrences?kind=${kind}`),
      ])
      const times = new Map<string, number>()
      for (const { source, _account } of records) {
        const id: string = source.meta.persistentRecordId
        const owner = ownerOf(id)
        ok(owner === undefined || _account === owner, `${id} is stored for ${_account}`)
        times.set(id, (times.get(id) ?? 0) + 1)
      }
      ok(counted[kind] === records.length, `${counted[kind]} counted, ${records.length} listed`)
      ok(
        occurrences.length === times.size && occurrences.every((one) => times.get(one.id) === one.times),
        'occurrences and records differ',
      )
      return Object.fromEntries(times)
    },
    loadFault: async (fault: FaultGiven): Promise<void> => {
      isTokenExpired = fault.do === 'expire-token'
      await text('PUT', '/_reference/faults', { seed: 7, faults: [fault] })
    },
    /** How often the fault has struck. */
    struck: async (): Promise<number> => (await json('GET', '/_reference/faults')).faults[0].struck,
    clearFaults: () => text('DELETE', '/_reference/faults'),
    /** Forgets the case: its faults, its accounts with what they hold, and that the token has expired. */
    endCase: async (): Promise<void> => {
      const deleted = [...accounts].map((one) => ask('DELETE', `/account?${ofAccount(one)}`))
      accounts.clear()
      await text('DELETE', '/_reference/faults')
      for (const { status } of await Promise.all(deleted)) {
        ok(status === 204 || status === 404, `a deletion was answered ${status}`)
      }
      if (isTokenExpired) await bind(TOKEN, 'nobody')
      isTokenExpired = false
    },
  }
}
export type SharedReference = Awaited<ReturnType<typeof startSharedReference>>
