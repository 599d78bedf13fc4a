import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAnswer, readCreateAnswer, UnreadableAnswer } from '../../src/gateway/answer.ts'
import { recordText } from '../../src/load/batch-text.ts'
import type { Entry } from '../../src/model/entry.ts'
import type { RecordKind } from '../../src/model/record.ts'
import { matchAnswer } from '../../src/reconcile/match.ts'
import { createMatchInOrder } from '../../src/reconcile/match-in-order.ts'
import { biometric, careTeam, condition, entryOf, OBSERVED_AT } from '../load/made-up-entries.ts'

const accountIds = ({ reference }: { reference: string }) =>
  reference.endsWith('0') ? undefined : `id-of-${reference}`
/** One for all answers of the tests: what it has learned from one must not mislead it with another. */
const matchInOrder = createMatchInOrder()
const inOrder = (entries: readonly Entry[], body: string) =>
  matchInOrder(entries, Buffer.from(body), accountIds)

/** The ids by which the answer is accepted when it is read as a whole; undefined where that is not so of every record. */
function carefully(entries: readonly Entry[], body: string) {
  try {
    const answer = readCreateAnswer(createAnswer(201, 'r', Buffer.from(body)), entries.length)
    const { accepted } = matchAnswer(entries, answer, accountIds)
    return answer.class === 'accepted' && entries.every((entry) => accepted.has(entry))
      ? entries.map((entry) => accepted.get(entry))
      : undefined
  } catch (error) {
    if (error instanceof UnreadableAnswer) return undefined
    throw error
  }
}

/** More than two of a kind: the first two teach the form of the others. */
const entries = [1, 2, 3, 10, 11].flatMap((row) => [
  entryOf(biometric, { row, person: `person-${row}`, value: String(100 + row) }),
  entryOf(condition, { row, person: `person-${row}` }),
  entryOf(careTeam, { row, person: `person-${row}` }),
])
const sentAs = (entry: Entry): Record<string, unknown> => ({
  id: `g-${entry.row.row}`,
  transactionId: entry.transactionId,
  ...(JSON.parse(recordText(entry, 'b')) as object),
})
const bodyOf = (data: unknown, more: object = {}) =>
  JSON.stringify({ code: 201, message: 'CREATED', data, errors: [], ...more })

/** JSON of the same value with white space. */
const spaced = (text: string) => JSON.stringify(JSON.parse(text), undefined, 2)

describe('an answer in order', () => {
  it('is recognised with the ids that it gives, in whatever form it is written', () => {
    const body = bodyOf(entries.map(sentAs))
    const ids = entries.map((entry) => `g-${entry.row.row}`)
    expect(inOrder(entries, body)).toEqual(ids)
    expect(inOrder(entries, spaced(body))).toEqual(ids)
    const least = entries.map(({ transactionId }) => ({ transactionId }))
    expect(inOrder(entries, bodyOf(least, { code: '200', errors: null }))).toEqual(
      entries.map(() => undefined),
    )
    const byMeta = entries.map((entry) => ({ source: { meta: { persistentRecordId: entry.transactionId } } }))
    expect(inOrder(entries, bodyOf(byMeta))).toEqual(entries.map(() => undefined))
  })

  it('is read as a whole where a care team names an account whose id nobody knows', () => {
    const unknown = [
      entryOf(careTeam, { row: 1, person: 'person-10' }),
      entryOf(careTeam, { row: 2, person: 'person-20' }),
    ]
    const body = (...ids: string[]) =>
      bodyOf(unknown.map((entry, at) => ({ ...sentAs(entry), transactionId: undefined, userId: ids[at] })))
    expect(inOrder(unknown, body('a-1', 'a-2'))).toBeUndefined()
    expect(carefully(unknown, body('a-1', 'a-2'))).toHaveLength(2)
    expect(carefully(unknown, body('a-1', 'a-1'))).toBeUndefined()
  })

  it('of people whose ids are what was sent for them teaches no form by which another account passes', () => {
    const match = createMatchInOrder()
    const idOf = ({ reference }: { reference: string }) =>
      reference.startsWith('own-') ? reference : `id-of-${reference}`
    const answered = (...people: string[]) => {
      const some = people.map((person, at) => entryOf(biometric, { row: at + 1, person }))
      const byId = some.map((entry) => ({
        ...sentAs(entry),
        account: { reference: entry.account.reference, type: 'accountId' },
      }))
      return match(some, Buffer.from(bodyOf(byId)), idOf)
    }
    expect(answered('own-1', 'own-2', 'own-3')).toEqual(['g-1', 'g-2', 'g-3'])
    expect(answered('person-4')).toBeUndefined()
  })

  const [first, second, third] = entries as [Entry, Entry, Entry]
  const echoes = (fields: object) => [{ ...sentAs(first), ...fields }, sentAs(second)]
  it.each([
    ['another order', bodyOf([sentAs(second), sentAs(first)])],
    ['one too few', bodyOf([sentAs(first)])],
    ['one too many', bodyOf([sentAs(first), sentAs(second), sentAs(second)])],
    ['another value', bodyOf(echoes({ value: 1 }))],
    ['another person', bodyOf(echoes({ account: { reference: 'someone', type: 'partnerAccountId' } }))],
    ['another resolved person', bodyOf(echoes({ account: { reference: 'id-of-x', type: 'accountId' } }))],
    ['another unit', bodyOf(echoes({ unit: 'kPa' }))],
    ['another day', bodyOf(echoes({ observationDate: '2020-01-01T00:00:00.000Z' }))],
    ['none of the codes', bodyOf(echoes({ codes: [{ code: '1-8' }] }))],
    ['an error', bodyOf([sentAs(first), sentAs(second)], { errors: [{ index: 0 }] })],
    ['a code of failure', bodyOf([sentAs(first), sentAs(second)], { code: '500' })],
    ['no data', bodyOf(undefined)],
    ['no more', bodyOf([sentAs(first), sentAs(second)]).slice(0, -1)],
    ['something behind it', `${bodyOf([sentAs(first), sentAs(second)])}}`],
    [
      'a name that is written otherwise',
      bodyOf([sentAs(first), sentAs(second)]).replace('"value"', '"v\\u0061lue"'),
    ],
    [
      'a second source, which names no record',
      bodyOf([sentAs(first), { ...sentAs(second), transactionId: undefined }]).replace(
        /\}\],"errors"/,
        ',"source":{}}],"errors"',
      ),
    ],
    ['data twice', `${bodyOf([sentAs(first), sentAs(second)]).slice(0, -1)},"data":[]}`],
    [
      'a second meta, which names no record',
      bodyOf([sentAs(first), { ...sentAs(second), transactionId: undefined }]).replace(
        /\}\}\],"errors"/,
        ',"meta":{}}}],"errors"',
      ),
    ],
    [
      'the id of the person where the reference must stand',
      bodyOf(echoes({ account: { reference: 'id-of-person-1', type: 'partnerAccountId' } })),
    ],
    ['a control character', bodyOf([sentAs(first), sentAs(second)]).replace('CREATED', 'CREA\u0001TED')],
    ['an escape that is none', bodyOf([sentAs(first), sentAs(second)]).replace('CREATED', 'CREA\\xTED')],
    ['a number with a zero in front', bodyOf([sentAs(first), sentAs(second)]).replace('201', '0201')],
    ['another NPI', bodyOf([sentAs(first), sentAs(second), { ...sentAs(third), npi: '1000000004' }])],
    ['another user', bodyOf([sentAs(first), sentAs(second), { ...sentAs(third), userId: 'id-of-x' }])],
    ['a number that is none', bodyOf([sentAs(first), sentAs(second)]).replace(/"value":/, '"value":0')],
  ])('is not recognised where it has %s', (_what, body) => {
    expect(inOrder([first, second], body)).toBeUndefined()
    expect(inOrder([first, second, third], body)).toBeUndefined()
  })

  it('is not recognised where a text only looks like what was sent', () => {
    const named = entryOf(biometric, { name: 'A\\nB' })
    const body = bodyOf([sentAs(named)])
    expect(inOrder([named], body.replace('A\\\\nB', 'A\\nB'))).toBeUndefined()
  })

  it.each([
    ['biometric', biometric],
    ['condition', condition],
    ['care team', careTeam],
  ])('is what reading it as a whole would accept, whatever single byte of a %s differs', (_, make) => {
    const alike = [1, 2, 3, 4].map((row) => entryOf(make, { row, person: `person-${row}` }))
    const body = bodyOf(alike.map(sentAs))
    const from = body.indexOf(JSON.stringify(sentAs(alike[2] ?? expect.fail('no entry'))))
    for (let at = from; at < body.lastIndexOf(']'); at++) {
      const other = body[at] === 'x' ? 'y' : 'x'
      const changed = body.slice(0, at) + other + body.slice(at + 1)
      const quick = createMatchInOrder()(alike, Buffer.from(changed), accountIds)
      if (quick !== undefined) expect(quick).toEqual(carefully(alike, changed))
    }
  })

  const field = fc.constantFrom(
    ...['id', 'transactionId', 'account', 'name', 'value', 'unit', 'observationDate', 'codes', 'npi'],
    ...['userId', 'source', 'toString'],
  )
  const value = fc.oneof(
    fc.json().map((text) => JSON.parse(text) as unknown),
    fc.constantFrom<unknown>(
      {},
      { meta: {} },
      '103',
      103,
      '103.0',
      'person-3',
      'id-of-person-1',
      '1234567893',
      1234567893,
      null,
    ),
    fc.record({
      reference: fc.constantFrom('person-1', 'id-of-person-1', 'id-of-person-3', 'person-10'),
      type: fc.constantFrom('accountId', 'entity', 'partnerAccountId'),
    }),
  )
  const how = fc.constantFrom('set', 'leave-out', 'twice-before', 'twice-behind')
  const change = fc.record({ at: fc.nat(entries.length - 1), field, value, how })
  const cut = fc.option(fc.record({ at: fc.nat(8_000), length: fc.nat(3), put: fc.string({ maxLength: 2 }) }))

  it('is what reading it as a whole would accept, whatever is changed in it', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 3 }), cut, fc.boolean(), (changes, damage, isSpaced) => {
        const echoed = entries.map(sentAs)
        const twice = new Map<number, { readonly before?: string; readonly behind?: string }>()
        for (const { at, field: name, value: given, how: changed } of changes) {
          const echo = echoed[at] ?? {}
          const member = `${JSON.stringify(name)}:${JSON.stringify(given)}`
          if (changed === 'leave-out') delete echo[name]
          else if (changed === 'set') echo[name] = given
          else twice.set(at, changed === 'twice-before' ? { before: `${member},` } : { behind: `,${member}` })
        }
        const data = echoed.map((echo, at) => {
          const { before = '', behind = '' } = twice.get(at) ?? {}
          const inner = JSON.stringify(echo, undefined, isSpaced ? 1 : 0).slice(1, -1)
          return inner === '' ? '{}' : `{${before}${inner}${behind}}`
        })
        let body = bodyOf([]).replace('"data":[]', `"data":[${data.join(',')}]`)
        if (damage !== null) {
          const { at, length, put } = damage
          body = body.slice(0, at) + put + body.slice(at + length)
        }
        const quick = inOrder(entries, body)
        if (quick !== undefined) expect(quick).toEqual(carefully(entries, body))
      }),
      { numRuns: 3_000 },
    )
  })

  const many = Array.from({ length: 12 }, (_, at) => ({ row: at + 1, person: `person-${at + 1}a` })).flatMap(
    (made) => [
      entryOf(biometric, { ...made, value: String(90 + made.row), observedAt: OBSERVED_AT + made.row }),
      entryOf(condition, { ...made, observedAt: OBSERVED_AT + made.row }),
    ],
  )
  it('is not recognised where one echo has what is said of another, however many are like it', () => {
    const place = fc.nat(many.length - 1)
    const member = fc.constantFrom('transactionId', 'value', 'observationDate', 'account', 'source')
    const resolved = fc.constantFrom<readonly RecordKind[]>([], ['biometric'], ['biometric', 'condition'])
    fc.assert(
      fc.property(place, place, member, resolved, (at, from, name, isResolved) => {
        const account = ({ account: { reference } }: Entry) => ({
          ...{ type: 'accountId', reference: `https://gateway/accounts/id-of-${reference}` },
        })
        const echoed = many.map((entry) => ({
          ...sentAs(entry),
          ...(isResolved.includes(entry.kind) ? { account: account(entry) } : {}),
        }))
        const [echo = {}, other = {}]: (Record<string, unknown> | undefined)[] = [echoed[at], echoed[from]]
        // Both records of a row have its date, one as a text and one as a number, and its person, perhaps named in two ways.
        const isRow =
          Math.floor(at / 2) === Math.floor(from / 2) && (name === 'observationDate' || name === 'account')
        const isSame = isRow || JSON.stringify(echo[name]) === JSON.stringify(other[name])
        if (other[name] === undefined) return
        echo[name] = other[name]
        const body = bodyOf(echoed)
        expect(inOrder(many, body)).toEqual(carefully(many, body))
        // A condition has no value of its own: one that is echoed says nothing of it.
        if (!isSame && !(name === 'value' && at % 2 === 1)) expect(inOrder(many, body)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })
})
