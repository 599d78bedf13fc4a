/** Requests for medical records, their authorizations and withdrawals, over the reference gateway and a document store beside it. */
import { describe, expect, it } from 'vitest'
import { loadMedicalRecords } from '../../src/load/medical-records.ts'
import type { Entry } from '../../src/model/entry.ts'
import type { EntryOutcome } from '../../src/model/outcome.ts'
import type { MedicalRequest } from '../../src/model/record.ts'
import { closedPort } from '../closed-port.ts'
import { answer, type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import { serve } from '../gateway/loopback.ts'
import { placed, startLoading } from './loading.ts'
import { entryOf, IDENTITY, medicalRequest } from './made-up-entries.ts'

const REQUESTER = '/medical-records/requester'
const TYPES = `${REQUESTER}/requestTypes`
const PDF = Buffer.from('%PDF-1.7 scanned\n%%EOF\n')

interface Said extends Partial<MedicalRequest> {
  /** Null: the row has none. */
  readonly phone?: string | null
  readonly subType?: string
  readonly row?: number
}

/** A row that asks for the records of a person. */
function asks(reference: string, { phone = '555', subType = '101', row = 1, ...said }: Said = {}): Entry {
  const body = JSON.stringify({
    referenceNumber: reference,
    patient: { firstName: 'Ann', lastName: 'Person', dob: '1980-02-03' },
    provider: { phone },
    request: {
      ...{ type: '', requestType: '1', requestSubType: subType },
      datesOfService: { type: 'startEnd', start: '2020-01-01', end: '2025-12-31' },
    },
    webhook: { url: '' },
  })
  const request = { reference, body, isWithdrawn: false, authorization: undefined, ...said }
  return entryOf((made) => medicalRequest(request, made), { row, key: reference })
}

/** `ready`, `absent` or what is wrong with it, by the name of the file. */
type Folder = Record<string, string>

async function startRequester(faultOf: (request: Passing) => Fault = () => PASS) {
  const loading = await startLoading({ faultOf })
  const folder: Folder = {}
  const context = {
    ...loading.context.medicalRecords,
    authorizations: {
      look: async (name: string) => folder[name] ?? 'absent',
      read: async (name: string) => (folder[name] === 'ready' ? PDF : undefined),
    },
  }
  let arrival = 0
  return {
    ...loading,
    context,
    folder,
    /** Loads a chunk of an export of its own. */
    ask: (...entries: readonly Entry[]) => loadMedicalRecords(context, placed(entries), ++arrival),
    askAs: (at: number, ...entries: readonly Entry[]) => loadMedicalRecords(context, placed(entries), at),
    sent: (method: string, path = REQUESTER) =>
      loading.proxy.seen.filter((one) => one.method === method && one.path === path).length,
    async stateOf(reference: string) {
      const hashed = IDENTITY.request(reference)
      return (await loading.ledger.people.medicalRequests(loading.reference.url, [hashed])).get(hashed)?.state
    },
  }
}

const told = (outcomes: readonly EntryOutcome[]): string[] =>
  outcomes.map((one) => ('reason' in one ? one.reason.code : one.outcome))

/** Gives another address for the documents of a request; without one, an address of its own for each. */
const uploadsTo =
  (reference: string | undefined, url: string) =>
  ({ method }: Passing): Fault =>
    method === 'PATCH'
      ? {
          do: 'pass-then-edit',
          edit: (envelope) => ({
            ...envelope,
            data: envelope.data.map((one) => {
              const number = String(one['referenceNumber'])
              if (reference === undefined) return { ...one, authorizationUploadUrl: `${url}/${number}` }
              return reference === number ? { ...one, authorizationUploadUrl: url } : one
            }),
          }),
        }
      : PASS

it.each([
  [413, 'too-large'],
  [422, 'refused'],
])('a request that is answered %i is rejected as %s, and the others get through', async (status, code) => {
  const requester = await startRequester(({ method, path, body }) =>
    method === 'PATCH' && path === REQUESTER && body.includes('"r1"') ? answer(status) : PASS,
  )
  const entries = [asks('r1'), asks('r2', { row: 2 }), asks('r3', { row: 3 })]
  expect(told(await requester.ask(...entries))).toEqual([code, 'accepted', 'accepted'])
})

it.each([1, 2, 3])(
  'a request that the answer does not name, %i of three, is rejected alone',
  async (left) => {
    const requester = await startRequester(({ method, path }) =>
      method === 'PATCH' && path === REQUESTER
        ? {
            do: 'pass-then-edit',
            edit: (envelope) => ({
              ...envelope,
              data: envelope.data.filter((one) => one['referenceNumber'] !== `r${left}`),
            }),
          }
        : PASS,
    )
    const outcomes = await requester.ask(asks('r1'), asks('r2', { row: 2 }), asks('r3', { row: 3 }))
    expect(told(outcomes)).toEqual([1, 2, 3].map((row) => (row === left ? 'not-echoed' : 'accepted')))
    expect(await requester.stateOf(`r${left}`)).toBeUndefined()
  },
)

describe('a document store that is not the gateway', () => {
  it.each([
    // Without a valid address it may answer anything: that says nothing of the credentials of the run.
    [401, 2],
    [403, 2],
    [413, 2],
    [302, 2],
  ])(
    'answers %i: another address is asked for once, the others get through, and a later run does it',
    async (status, times) => {
      const store = { status }
      const { url, seen } = await serve(() => ({ status: store.status }))
      const requester = await startRequester(uploadsTo('r1', `${url}/document`))
      Object.assign(requester.folder, { a: 'ready', b: 'ready' })
      const entries = [asks('r1', { authorization: 'a' }), asks('r2', { authorization: 'b', row: 2 })]
      expect(told(await requester.ask(...entries))).toEqual(['authorization-refused', 'accepted'])
      expect([seen.length, requester.sent('PATCH')]).toEqual([times, 2])
      expect([await requester.stateOf('r1'), await requester.stateOf('r2')]).toEqual(['awaiting', 'complete'])
      store.status = 200
      expect(told(await requester.ask(...entries))).toEqual(['accepted', 'unchanged'])
      expect(await requester.stateOf('r1')).toBe('complete')
      expect(seen.at(-1)?.body).toBe(PDF.toString())
    },
  )

  it.each([
    ['fails always', async () => (await serve(() => ({ status: 500 }))).url],
    ['is not there', async () => `http://127.0.0.1:${await closedPort()}`],
  ])('%s: that is an outage of nobody else', async (_, start) => {
    const requester = await startRequester(uploadsTo('r1', `${await start()}/document`))
    Object.assign(requester.folder, { a: 'ready', b: 'ready' })
    const entries = [asks('r1', { authorization: 'a' }), asks('r2', { authorization: 'b', row: 2 })]
    expect(told(await requester.ask(...entries))).toEqual(['authorization-refused', 'accepted'])
  })
})

describe('request types', () => {
  it('are read once a run, and again after a read that failed', async () => {
    let fails = true
    const requester = await startRequester(({ path }) => (path === TYPES && fails ? answer(400) : PASS))
    expect(told(await requester.ask(asks('r1'), asks('r2', { row: 2 })))).toEqual([
      'request-types-unreadable',
      'request-types-unreadable',
    ])
    fails = false
    for (const reference of ['r1', 'r2', 'r3'])
      expect(told(await requester.ask(asks(reference)))).toEqual(['accepted'])
    expect([requester.sent('GET', TYPES), requester.sent('PATCH')]).toEqual([2, 3])
  })

  it('are read for nothing that is not sent, and keep no other request back', async () => {
    const requester = await startRequester()
    expect(await requester.ask()).toEqual([])
    expect(requester.sent('GET', TYPES)).toBe(0)
    expect(told(await requester.ask(asks('r1', { subType: '103' }), asks('r2', { row: 2 })))).toEqual([
      'request-type-unknown',
      'accepted',
    ])
  })
})

describe('a request and its document', () => {
  /** What is known of a request, what is said of it now, what lies in the folder: outcome, state, documents sent, requests sent. */
  type Case = readonly [
    before: 'new' | 'awaiting' | 'complete',
    said: 'same' | 'changed',
    file: string,
    outcome: string,
    state: string,
    documents: number,
    upserts: number,
  ]
  const CASES: readonly Case[] = [
    ['new', 'same', 'ready', 'accepted', 'complete', 1, 1],
    ['new', 'same', 'absent', 'awaiting-authorization', 'awaiting', 0, 1],
    ['new', 'same', 'is cut', 'authorization-unusable', 'awaiting', 0, 1],
    ['awaiting', 'same', 'ready', 'accepted', 'complete', 1, 1],
    ['awaiting', 'same', 'absent', 'awaiting-authorization', 'awaiting', 0, 0],
    ['awaiting', 'changed', 'absent', 'awaiting-authorization', 'awaiting', 0, 1],
    ['awaiting', 'changed', 'ready', 'accepted', 'complete', 1, 1],
    ['complete', 'same', 'ready', 'unchanged', 'complete', 0, 0],
    ['complete', 'same', 'absent', 'unchanged', 'complete', 0, 0],
    ['complete', 'changed', 'ready', 'accepted', 'complete', 1, 1],
    // A document that was taken once stays with the request.
    ['complete', 'changed', 'absent', 'accepted', 'complete', 0, 1],
    ['complete', 'changed', 'is cut', 'authorization-unusable', 'awaiting', 0, 1],
  ]

  it('end by what is known and what lies in the folder; the next night the same rows say nothing new', async () => {
    const { url, seen } = await serve(() => ({ status: 200 }))
    const requester = await startRequester(uploadsTo(undefined, url))
    const cases = CASES.map(([before, said, file, outcome, state, documents, upserts], at) => {
      const [reference, label] = [`r${at}`, `${before} ${said} ${file}`]
      const now = { authorization: reference, phone: said === 'changed' ? '556' : '555', row: at + 1 }
      return { ...{ reference, label, before, file, outcome, state, documents, upserts }, now }
    })
    for (const { reference, before } of cases)
      requester.folder[reference] = before === 'complete' ? 'ready' : 'absent'
    const known = cases.filter(({ before }) => before !== 'new')
    await requester.ask(...known.map(({ reference, now }) => asks(reference, { ...now, phone: '555' })))
    const [uploads, requests] = [seen.length, requester.proxy.seen.length]
    for (const { reference, file } of cases) requester.folder[reference] = file
    const again = cases.map(({ reference, now }) => asks(reference, now))
    const outcomes = told(await requester.ask(...again))
    const sent = requester.proxy.seen
      .slice(requests)
      .flatMap(({ method, body }) =>
        method === 'PATCH'
          ? JSON.parse(body).map((one: { referenceNumber: string }) => one.referenceNumber)
          : [],
      )
    for (const [at, { reference, label, outcome, state, documents, upserts }] of cases.entries()) {
      const uploaded = seen.slice(uploads).filter((one) => one.url === `/${reference}`).length
      const times = sent.filter((one) => one === reference).length
      expect([outcomes[at], await requester.stateOf(reference), uploaded, times], label).toEqual([
        ...[outcome, state, documents, upserts],
      ])
    }
    const afterwards = [seen.length, requester.sent('PATCH')]
    expect(told(await requester.ask(...again))).toEqual(
      cases.map(({ state, outcome }) => (state === 'complete' ? 'unchanged' : outcome)),
    )
    expect([seen.length, requester.sent('PATCH')]).toEqual(afterwards)
  })

  it('has none where the mapping names none', async () => {
    const requester = await startRequester()
    expect(told(await requester.ask(asks('r1')))).toEqual(['accepted'])
    expect(await requester.stateOf('r1')).toBe('complete')
  })
})

describe('an upload', () => {
  const asked = asks('r1', { authorization: 'a' })
  const start = async (authorizations: object, faultOf?: (request: Passing) => Fault) => {
    const requester = await startRequester(faultOf)
    Object.assign(requester.context, { authorizations })
    return requester
  }
  const ready = { look: async () => 'ready', read: async () => PDF }

  it('of a document that goes in the last moment waits for the next one', async () => {
    const requester = await start({ ...ready, read: async () => undefined })
    expect(told(await requester.ask(asked))).toEqual(['awaiting-authorization'])
    expect(await requester.stateOf('r1')).toBe('awaiting')
  })

  it.each([
    ['says so', 'is cut', 'authorization-unusable', 1],
    ['does not say so: another address is asked for once', 'ready', 'authorization-refused', 2],
  ])(
    'of a document that is none in the last moment is refused; the folder %s',
    async (_, found, code, upserts) => {
      const looks = ['ready']
      const look = async () => looks.shift() ?? found
      const requester = await start({ look, read: async () => Buffer.from('%PDF-1.7 cut') })
      expect(told(await requester.ask(asked))).toEqual([code])
      expect([await requester.stateOf('r1'), requester.sent('PATCH')]).toEqual(['awaiting', upserts])
    },
  )

  it.each([
    ['gives none', uploadsTo('r1', ''), 2],
    [
      'refuses to give another one',
      (request: Passing) =>
        request.method === 'PATCH' && request.earlier > 0 ? answer(400) : uploadsTo('r1', '')(request),
      2,
    ],
  ] as const)('is left for a later run where the gateway %s', async (_, faultOf, upserts) => {
    const requester = await start(ready, faultOf)
    const [outcome] = await requester.ask(asked)
    expect(outcome).toMatchObject({
      outcome: 'rejected',
      reason: {
        code: 'authorization-refused',
        message: 'the gateway gave no upload address for the authorization',
      },
    })
    expect([await requester.stateOf('r1'), requester.sent('PATCH')]).toEqual(['awaiting', upserts])
  })
})

describe('of several words on a request', () => {
  const [one, other] = [asks('r1'), asks('r1', { phone: '556' })]
  const OUTDATED = { outcome: 'unchanged', passedOver: 'outdated' }

  it.each([
    ['that has said it again', [1, 3]],
    ['that has said it before an older one did', [3, 1]],
  ])('the one of the newest export counts, %s', async (_, arrivals) => {
    const requester = await startRequester()
    for (const arrival of arrivals) await requester.askAs(arrival, one)
    expect(await requester.askAs(2, other)).toMatchObject([OUTDATED])
    expect(requester.sent('PATCH')).toBe(1)
    expect(await requester.askAs(4, other)).toMatchObject([{ outcome: 'accepted' }])
  })

  it('in one chunk the last counts, and only what said something else is outdated', async () => {
    const requester = await startRequester()
    const rows = ['556', '555', '555'].map((phone, at) => asks('r1', { phone, row: at + 1 }))
    const outcomes = await requester.ask(...rows)
    expect(outcomes).toMatchObject([OUTDATED, { outcome: 'unchanged' }, { outcome: 'accepted' }])
    expect(outcomes[1]).not.toHaveProperty('passedOver')
  })

  it('one that is empty clears what the gateway has, and says nothing where it has nothing', async () => {
    const requester = await startRequester()
    const empty = asks('r1', { phone: null })
    await requester.ask(empty)
    await requester.ask(one)
    await requester.ask(empty)
    await requester.ask(asks('r1', { isWithdrawn: true }))
    expect(told(await requester.ask(empty))).toEqual(['accepted'])
    const bodies = requester.proxy.seen.filter(({ method }) => method === 'PATCH')
    expect(bodies.map(({ body }) => JSON.parse(body)[0].provider)).toEqual([
      {},
      { phone: '555' },
      { phone: null },
      {},
    ])
  })
})

describe('a withdrawal', () => {
  const withdrawn = (reference: string) => asks(reference, { isWithdrawn: true })
  const isDeletion = ({ method }: Passing): boolean => method === 'DELETE'
  const isSearch = ({ method, path }: Passing): boolean => method === 'POST' && path === REQUESTER

  it.each<[string, (request: Passing) => Fault, boolean, string, string | undefined]>([
    ['is done', () => PASS, true, 'accepted', 'withdrawn'],
    ['of what nobody has asked for', () => PASS, false, 'unchanged', 'withdrawn'],
    [
      'that is refused, of what is still there',
      (request) => (isDeletion(request) ? answer(400) : PASS),
      true,
      'withdrawal-refused',
      'complete',
    ],
    [
      'that is refused, as it was done before',
      (request) => (isDeletion(request) ? { do: 'pass-then-answer', status: 400 } : PASS),
      true,
      'accepted',
      'withdrawn',
    ],
    [
      'that is refused, where no search tells',
      (request) =>
        isDeletion(request)
          ? { do: 'pass-then-answer', status: 400 }
          : isSearch(request)
            ? answer(400)
            : PASS,
      true,
      'withdrawal-refused',
      'complete',
    ],
  ])('%s', async (_, faultOf, isKnown, outcome, state) => {
    const requester = await startRequester(faultOf)
    // Another request of the same patient and type is none of it.
    await requester.ask(asks('other'), ...(isKnown ? [asks('r1', { row: 2 })] : []))
    expect(told(await requester.ask(withdrawn('r1')))).toEqual([outcome])
    expect([await requester.stateOf('r1'), await requester.stateOf('other')]).toEqual([state, 'complete'])
  })
})

it.each([
  [101, 500, [100, 1]],
  [5, 2, [2, 2, 1]],
])('%i requests go out by so many at once, where a batch may have %i', async (count, records, sizes) => {
  const requester = await startRequester()
  Object.assign(requester.context, { limits: { records, bytes: 1024 ** 2 } })
  const entries = Array.from({ length: count }, (_, at) => asks(`r${at}`, { row: at + 1 }))
  expect(new Set(told(await requester.ask(...entries)))).toEqual(new Set(['accepted']))
  const bodies = requester.proxy.seen.filter(({ method }) => method === 'PATCH')
  expect(bodies.map(({ body }) => JSON.parse(body).length).toSorted((a, b) => b - a)).toEqual(sizes)
})
