/** Mappings of people alone, and who pays for them. */
import { expect, it } from 'vitest'
import { csvMapper, findings, mapped, wires } from './mapping-under-test.ts'

const ACCOUNT = 'reference: id, sponsor: plan'
const REGISTER =
  'register: { firstName: f, lastName: l, dateOfBirth: { from: b, format: yyyy-MM-dd }, gender: g, postalCode: z }'
const mapping = (account: string, rest = ''): string =>
  `mapping: m\nread: { format: csv }\nrow: { key: [id], account: { ${account} }${rest}\n`

it('a mapping of account.register alone makes a record of each person', () => {
  const map = csvMapper(mapping(`${ACCOUNT}, ${REGISTER}`, ' }'), ['id', 'plan', 'f', 'l', 'b', 'g', 'z'])
  const row = mapped(map({ id: 'ann', plan: 'acme', f: 'A', l: 'B', b: '1980-02-03', g: 'FEMALE', z: '1' }))
  expect(row.records.map(({ kind, rule }) => [kind, rule])).toEqual([['account', 'account']])
  expect(row.register()).toMatchObject({ ok: true, registration: { partnerAccountId: 'ann' } })
})

it.each([
  ['nothing to register with', mapping(ACCOUNT, ' }'), 'maps nothing'],
  [
    'records without a date',
    `${mapping(ACCOUNT, ', source: { name: N, type: t } }')}biometrics: { hba1c: v }`,
    'is missing',
  ],
  [
    'records without a source',
    `${mapping(ACCOUNT, ', observedAt: { constant: 2026-01-01T00:00:00Z } }')}biometrics: { hba1c: v }`,
    'is missing',
  ],
])('refuses %s', (_what, text, message) => {
  expect(findings(text)).toEqual([expect.stringContaining(message)])
})

it.each([
  ['acme', { reference: 'ann', type: 'partnerAccountId', sponsor: 'acme' }],
  ['', { reference: 'ann', type: 'partnerAccountId' }],
])('sends the sponsor %j with the account of a record', (plan, account) => {
  const text = `${mapping(ACCOUNT, ', observedAt: { constant: 2026-01-01T00:00:00Z }, source: { name: N, type: t } }')}biometrics: { hba1c: v }`
  const [record] = wires(csvMapper(text, ['id', 'plan', 'v'])({ id: 'ann', plan, v: '5.1' }))
  expect(record?.['account']).toEqual(account)
})
