/** Files of a collection by kind: each has its header, and under it as many cells, one for each value of an item. */
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { collectPerson, filesOf, itemTexts, KINDS, kindOf, textOf } from '../../src/collect/kinds.ts'
import { client, json, serve } from '../gateway/loopback.ts'

type CollectedKind = Parameters<typeof kindOf>[0]

type AskingContext = Parameters<typeof collectPerson>[0]

const ANN = { reference: 'ann', type: 'partnerAccountId' } as const
const PERSON = { named: ANN, account: ANN, accountId: 'acc-1' }
const NAMES = Object.keys(KINDS) as CollectedKind[]

/** An item with a value of its own at each path, and one that is no column. */
function itemOf(paths: readonly string[]): object {
  const item: Record<string, unknown> = { unknown: 'no column' }
  for (const path of paths) {
    const keys = path.split('.')
    let at = item
    for (const key of keys.slice(0, -1)) {
      at[key] ??= {}
      at = at[key] as Record<string, unknown>
    }
    at[keys.at(-1) ?? ''] = `value of ${path}`
  }
  return item
}

test.each(NAMES)('%s as CSV: under each column its value, of each item, with the person in front', (kind) => {
  const { columns, isOfNobody } = kindOf(kind)
  expect(columns.length).toBeGreaterThan(2)
  const parts = { [kind]: [itemOf(columns), {}] }
  const file = `${kind}.csv`
  const head = filesOf('csv', [kind]).get(file) ?? ''
  const text = textOf('csv', PERSON, parts, itemTexts(parts)).get(file) ?? ''
  const [full, empty] = parse(head + text, { columns: true }) as Record<string, string>[]
  const who = isOfNobody === true ? {} : { reference: 'ann', type: 'partnerAccountId', accountId: 'acc-1' }
  const own = columns.filter((path) => !(path in who))
  expect(full).toMatchObject(Object.fromEntries(own.map((path) => [path, `value of ${path}`])))
  expect(Object.keys(full ?? {})).toEqual([...new Set([...Object.keys(who), ...columns])])
  expect(empty).toMatchObject(Object.fromEntries(own.map((path) => [path, ''])))
  if (!columns.includes('type')) expect(empty).toMatchObject(who)
})

test.each<[CollectedKind[], string[]]>([
  [['biometrics'], ['people.ndjson']],
  [['biometrics', 'ageResult'], ['people.ndjson']],
  [['articles'], ['articles.ndjson', 'gone.ndjson']],
])('%j as NDJSON has the files %j, without a header', (kinds, files) => {
  expect([...filesOf('ndjson', kinds)]).toEqual(files.map((name) => [name, '']))
})

test('as CSV each kind has a file, and articles one more of those that are gone', () => {
  expect([...filesOf('csv', ['biometrics', 'conditions']).keys()]).toEqual([
    'biometrics.csv',
    'conditions.csv',
  ])
  expect([...filesOf('csv', ['articles']).keys()]).toEqual(['articles.csv', 'gone.ndjson'])
})

test.each([
  [null, ''],
  [undefined, ''],
  [0, '0'],
  [false, 'false'],
  [['a', 1], '["a",1]'],
  [{ b: null }, '{"b":null}'],
])('a value of %j is the cell %s', (value, cell) => {
  const parts = { recommendations: [{ body: value }] }
  const text = textOf('csv', PERSON, parts, itemTexts(parts)).get('recommendations.csv') ?? ''
  expect((parse(text) as string[][])[0]?.at(-1)).toBe(cell)
})

test('a person whom the job names by the account id needs no other for the deprecated forms', async () => {
  const server = await serve(() => json(200, { status: 'COMPLETE' }))
  const context: AskingContext = {
    ...{ gateway: client(server.url), read: (_, call) => call(), language: undefined },
    ...{ deprecated: true, requests: [] },
  }
  const named = { reference: 'acc-9', type: 'accountId' } as const
  await collectPerson(context, ['ageResult'], { named, account: named, accountId: undefined })
  await collectPerson(context, ['ageResult'], PERSON)
  expect(server.seen.map(({ url }) => url.split('/').at(-1))).toEqual(['acc-9', 'acc-1'])
})
