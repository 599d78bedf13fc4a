import { ok } from 'node:assert/strict'
import { startReferenceGateway } from '../../packages/reference-gateway/src/server.ts'
import type { FaultGiven } from '../../packages/reference-gateway/test/struck-gateway.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { GatewayError } from '../../src/gateway/gateway-error.ts'
import { REGISTRATION } from './sample-records.ts'

/** The clock of gateway and client stands here, so that a Retry-After date is a number of milliseconds. */
export const NOW = Date.UTC(2024, 6, 1)
/** The bearer token of the client. */
export const TOKEN = 'the-token'
/** A token that no fault expires. */
const OBSERVER = 'the-observer'

export type RecordKind = 'biometric' | 'condition' | 'careTeam'

export const account = (reference: string) => ({ reference, type: 'partnerAccountId' }) as const

/** What a call answers; undefined where that is a 404. */
async function unless404<Answer>(call: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof GatewayError && error.status === 404) return undefined
    throw error
  }
}

/**
 * A reference gateway for many cases one after the other: what it holds is asked for without faults, and forgotten with
 * `endCase`. Requests for medical records stay; each case has its own patient.
 */
export async function startSharedReference() {
  let ids = 0
  const gateway = await startReferenceGateway({ clock: () => NOW, makeId: () => `id-${++ids}` })
  const accounts = new Set<string>()
  let isTokenExpired = false

  const observer = createGateway({
    baseUrl: gateway.url,
    apiKey: 'the-key',
    accessToken: async () => OBSERVER,
    now: () => NOW,
    nextRequestId: () => 'observed',
  })
  /** Calls that are not of the interface. */
  const text = async (method: string, path: string, body?: unknown): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) }
    const answer = await fetch(gateway.url + path, { method, ...sent })
    const told = await answer.text()
    ok(answer.ok, `${method} ${path}: ${answer.status} ${told}`)
    return told
  }
  const json = async (method: string, path: string) => JSON.parse(await text(method, path))
  const lines = async (path: string) =>
    (await text('GET', path))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  const bind = (token: string, reference: string) =>
    text('POST', '/_reference/tokens', { token, account: account(reference) })
  const counts = (): Promise<Record<RecordKind | 'account', number>> => json('GET', '/_reference/counts')

  return {
    url: gateway.url,
    close: async (): Promise<void> => {
      observer.close()
      await gateway.close()
    },
    counts,
    /** Looks and prepares, without faults. */
    observer,
    /** To be forgotten with the case, where it comes to be registered. */
    willBeRegistered: (reference: string) => accounts.add(reference),
    register: async (reference: string): Promise<void> => {
      accounts.add(reference)
      await observer.accounts.register({ ...REGISTRATION, partnerAccountId: reference })
    },
    /** Lets the client's token pass, for this user. */
    bindToken: async (reference: string): Promise<void> => {
      await bind(TOKEN, reference)
    },
    /** Whether the account is registered: its records can be read. */
    knows: async (reference: string): Promise<boolean> =>
      (await unless404(observer.biometrics.read(account(reference)))) !== undefined,
    /** Number of the page that the user is to answer next. */
    pageOf: async (reference: string): Promise<unknown> => {
      await bind(OBSERVER, reference)
      return (await observer.assessment.currentPage())?.pageNumber
    },
    requestsOf: async (lastName: string) => {
      const filter = [{ patient: { lastName }, request: { type: '', subType: '' } }]
      return (await observer.medicalRecords.search({ page: 1, limit: 100, filter })).results
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
      await text('DELETE', '/_reference/faults')
      await Promise.all([...accounts].map((one) => unless404(observer.accounts.delete(account(one)))))
      accounts.clear()
      if (isTokenExpired) await bind(TOKEN, 'nobody')
      isTokenExpired = false
    },
  }
}
export type SharedReference = Awaited<ReturnType<typeof startSharedReference>>
