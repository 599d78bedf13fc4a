import { describe, expect, it } from 'vitest'
import type { KnownRequest } from '../../src/ledger/ledger.ts'
import {
  bodyOf,
  lastOfEach,
  stepOf,
  typeFault,
  type WantedRequest,
} from '../../src/load/medical-request-state.ts'

type Step = ReturnType<typeof stepOf>

const OWN = 'this-run'
const known = (over: Partial<KnownRequest> = {}): KnownRequest => ({
  ...{ reference: 'r', content: 'c', state: 'complete', heardAt: 10, run: 'earlier', ...over },
})
const wanted = (over: Partial<WantedRequest> & { readonly isWithdrawn?: boolean } = {}): WantedRequest => ({
  entry: {} as WantedRequest['entry'],
  request: {
    ...{ reference: 'r', body: '{}', authorization: undefined },
    isWithdrawn: over.isWithdrawn ?? false,
  },
  ...{ reference: 'r', content: 'c', heardAt: 20, ...over },
})

describe('what is done about a request', () => {
  it.each<[string, KnownRequest | undefined, WantedRequest, Step]>([
    ['one that is not known', undefined, wanted(), 'submit'],
    ['one that is known so', known(), wanted(), 'unchanged'],
    ['one that has changed', known(), wanted({ content: 'd' }), 'submit'],
    ['an older word that is another', known({ heardAt: 30 }), wanted({ content: 'd' }), 'outdated'],
    ['an older word that is the same', known({ heardAt: 30 }), wanted(), 'unchanged'],
    ['one that waits for its document', known({ state: 'awaiting' }), wanted(), 'submit'],
    ['the same, of an older row', known({ state: 'awaiting', heardAt: 30 }), wanted(), 'submit'],
    ['one that this run has done, for this row', known({ run: OWN, heardAt: 20 }), wanted(), 'accepted'],
    ['one that this run has done, for another row', known({ run: OWN }), wanted(), 'unchanged'],
    ['a withdrawal', known(), wanted({ isWithdrawn: true }), 'withdraw'],
    ['a withdrawal of what is not known', undefined, wanted({ isWithdrawn: true }), 'withdraw'],
    ['a withdrawal again', known({ state: 'withdrawn' }), wanted({ isWithdrawn: true }), 'unchanged'],
    ['an older withdrawal', known({ heardAt: 30 }), wanted({ isWithdrawn: true }), 'outdated'],
    ['one that was withdrawn', known({ state: 'withdrawn' }), wanted(), 'submit'],
    [
      'an older one that was withdrawn since',
      known({ state: 'withdrawn', heardAt: 30 }),
      wanted(),
      'outdated',
    ],
  ])('%s', (_, before, now, step) => {
    expect(stepOf(before, now, OWN)).toBe(step)
  })
})

it('of rows with one reference the last counts, and it is told which said something else', () => {
  const [a, b, c] = [wanted({ content: 'd' }), wanted(), wanted()]
  const other = wanted({ reference: 's' })
  expect(lastOfEach([a, other, b, c])).toEqual({
    last: [c, other],
    earlier: [
      { one: a, isOther: true },
      { one: b, isOther: false },
    ],
  })
})

const BODY = {
  referenceNumber: 'r',
  patient: { firstName: 'A', lastName: 'B', dob: '1980-02-03', zip: null },
  provider: { phone: null },
  request: {
    ...{ type: '', requestType: 'APS', requestSubType: '2', disclosures: null },
    datesOfService: { type: 'startEnd', start: '2020-01-01', end: '2020-02-01' },
  },
  webhook: { url: '' },
}
const saying = (request: object): WantedRequest =>
  wanted({
    request: {
      ...wanted().request,
      body: JSON.stringify({ ...BODY, request: { ...BODY.request, ...request } }),
    },
  })

it('clears what is empty where the gateway has the request, and says nothing of it where it is new', () => {
  expect(bodyOf(saying({}), false)).toEqual(BODY)
  const { disclosures: _, ...request } = BODY.request
  const { zip: __, ...patient } = BODY.patient
  expect(bodyOf(saying({}), true)).toEqual({ ...BODY, patient, provider: {}, request })
})

describe('types', () => {
  const TYPES = [
    {
      id: '1',
      name: 'APS',
      requestSubType: [
        { id: '2', name: 'Life' },
        { id: '3', name: 'Old', disabled: true },
      ],
    },
    { id: '4', name: 'None' },
  ]
  it.each<[object, string | undefined]>([
    [{}, undefined],
    [{ requestType: '1', requestSubType: 'Life' }, undefined],
    [{ requestType: 'aps' }, 'the gateway has no such request type; it has "APS", "None"'],
    [{ requestSubType: '4' }, 'the request type "APS" has no such sub-type; it has "Life"'],
    [{ requestSubType: 'Old' }, 'the sub-type "Old" is disabled; "APS" has "Life"'],
    [{ requestType: 'None' }, 'the request type "None" has no such sub-type; it has none'],
  ])('%j', (request, told) => {
    expect(typeFault(bodyOf(saying(request), true), TYPES)).toBe(told)
  })
})
