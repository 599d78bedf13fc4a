/** A gateway whose account ids hold the member number: nothing of them stands in the ledger, nor in what lies beside it when a run is over. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createAccountIdCipher, type SealedId } from '../../src/ledger/sealed-ids.ts'
import { openClinic, REGISTERED_ROW } from '../cli/clinic.ts'
import { gatewaySettings } from '../cli/reference-store.ts'
import { json, serve } from '../gateway/loopback.ts'

const MAPPING = `mapping: clinic
${REGISTERED_ROW}biometrics: { heart-rate: pulse }
careTeams: { doctor: { npi: npi, name: doctor, primary: true } }
`
const HEAD = 'id,day,first,last,born,gender,zip,pulse,npi,doctor\n'
const row = (id: string): string =>
  `${id},2026-03-02,Ann,Person,1980-02-03,FEMALE,04884,61,1234567893,Doctor North\n`
const MEMBERS = ['quixotine-4711', 'zephyrwell-0815']

/** Gives each person the id `A` + member number, and takes all that is sent. */
const openGateway = () =>
  serve(({ method, url, body }) => {
    const sent: unknown = body === '' ? undefined : JSON.parse(body)
    if (url === '/account/register') {
      const { partnerAccountId } = sent as { partnerAccountId: string }
      return json(200, { accountId: `A${partnerAccountId}`, partnerAccountId })
    }
    if (method === 'GET') return json(200, { code: '200', data: [], errors: [] })
    if (url.includes('/pcp')) return json(200, { code: '200', data: [{ npi: '1234567893' }], errors: [] })
    return json(200, { code: '200', data: sent, errors: [] })
  })

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name))

test('the ledger has ids that nobody reads without the key, and every command reads them', async () => {
  const gateway = await openGateway()
  const clinic = await openClinic({
    mapping: MAPPING,
    job: 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n',
    environment: gatewaySettings(gateway.url),
  })
  const { workplace } = clinic
  await clinic.deliver('a.csv', HEAD + MEMBERS.map(row).join(''))
  expect((await clinic.run()).code).toBe(0)
  const searched = filesBelow(workplace.home).filter((file) => !file.endsWith('key'))
  expect(searched.some((file) => file.includes('ledger.sqlite'))).toBe(true)
  for (const file of searched)
    for (const member of MEMBERS)
      expect({ file, at: readFileSync(file).indexOf(member) }).toEqual({ file, at: -1 })

  // A second night does not register anybody; a collection asks by the ids; an export of the crosswalk has them.
  const registered = (): number => gateway.seen.filter(({ url }) => url === '/account/register').length
  const before = registered()
  await clinic.deliver('b.csv', HEAD + MEMBERS.map(row).join('').replaceAll('2026-03-02', '2026-03-03'))
  await clinic.run()
  expect(registered()).toBe(before)
  await workplace.job('known', 'people: known\ncollect: { what: [biometrics] }\nto: { folder: ../out }\n')
  expect((await workplace.waybill('run', 'known', '--json')).code).toBe(0)
  const asked = gateway.seen.flatMap(({ url }) =>
    new URLSearchParams(url.split('?')[1]).getAll('accountReference'),
  )
  for (const member of MEMBERS) expect(asked).toContain(`A${member}`)
  const out = join(workplace.folder, 'crosswalk.csv')
  expect((await workplace.waybill('accounts', 'export', 'clinic', '--out', out)).code).toBe(0)
  for (const member of MEMBERS) expect(readFileSync(out, 'utf8')).toContain(`${member},A${member}`)
  for (const file of filesBelow(workplace.home).filter((one) => one.includes('ledger')))
    for (const member of MEMBERS) expect(readFileSync(file).indexOf(member)).toBe(-1)
})

/** A cipher of column texts. */
function cipherOf(key: string) {
  const { seal, open } = createAccountIdCipher(() => key)
  return {
    seal: (id: string): string => String(seal(id)),
    open: (text: string): string | null => open(text as unknown as SealedId),
  }
}

describe('a sealed id', () => {
  const cipher = cipherOf(randomBytes(32).toString('hex'))

  test('comes back as it was, and is the same text each time', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (id) => {
        const wellFormed = id.toWellFormed()
        expect(cipher.open(cipher.seal(wellFormed))).toBe(wellFormed)
        expect(cipher.seal(wellFormed)).toBe(cipher.seal(wellFormed))
      }),
    )
  })

  test('is nothing to another key, and nothing where it was changed', () => {
    const sealed = cipher.seal('A4711')
    expect(cipherOf('another').open(sealed)).toBeNull()
    for (let at = 0; at < sealed.length; at++) {
      const other = sealed[at] === 'A' ? 'Q' : 'A'
      expect(cipher.open(sealed.slice(0, at) + other + sealed.slice(at + 1))).not.toBe('A4712')
    }
    for (const text of ['', 'A4711', sealed.slice(1), `${sealed}AAAA`]) expect(cipher.open(text)).toBeNull()
  })
})
