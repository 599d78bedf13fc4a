/** Cells that a spreadsheet program would obey, also one that ends cells at semicolons or tabs, as many do outside of America. */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { filesOf, itemTexts, textOf } from '../../src/collect/kinds.ts'
import { ANN, HEADER, openClinic } from '../cli/clinic.ts'
import { summaryOf } from '../cli/command-line.ts'
import { PASS } from '../faults/fault-proxy.ts'

const FORMULAS = [
  '=cmd',
  '-5+cmd',
  'x;=cmd',
  'x\t+cmd',
  'x\n@cmd',
  'x\r\n-cmd',
  'x;\uff1dcmd',
  "x;'=cmd",
  '=cmd,"x;=cmd',
]

/** As programs cut lines into cells that know another end of cells than the comma, and of quotes what their reader knows. */
const cellsAsCut = (text: string): string[] => text.split(/[;\t\r\n]|","|^"|(?<=\n)"/m)

const expectInert = (text: string): void => {
  for (const delimiter of [',', ';', '\t'])
    for (const cell of parse(text, { delimiter, relax_quotes: true, relax_column_count: true }).flat())
      expect(cell).not.toMatch(/^[=+\-@\uff1d]/)
  for (const cell of cellsAsCut(text)) expect(cell).not.toMatch(/^[=+\-@\uff1d]/)
}

test('of a collection', () => {
  for (const name of FORMULAS) {
    const parts = { conditions: [{ id: name, name }] }
    const person = { reference: name, type: 'partnerAccountId' } as const
    const asked = { account: person, named: person, accountId: name }
    const text = textOf('csv', asked, parts, itemTexts(parts)).get('conditions.csv') ?? ''
    expect(text).toContain('cmd')
    expectInert((filesOf('csv', ['conditions']).get('conditions.csv') ?? '') + text)
  }
  const parts = { biometrics: [{ id: 'a', value: -5.25 }] }
  const person = { reference: 'ann', type: 'partnerAccountId' } as const
  const asked = { account: person, named: person, accountId: undefined }
  expect(textOf('csv', asked, parts, itemTexts(parts)).get('biometrics.csv')).toContain(',-5.25,')
})

test('of rejects, which come back as they were', async () => {
  const clinic = await openClinic()
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`
  const rows = FORMULAS.map((text, at) => `p${at},2026-03-02,none,none,none,kg,${quoted(text)}\n`)
  await clinic.deliver('a.csv', HEADER + ANN + rows.join(''))
  const path = summaryOf(await clinic.run()).exports[0]?.rejects ?? ''
  const text = readFileSync(path, 'utf8')
  expectInert(text)
  const corrected = join(clinic.workplace.folder, 'corrected.csv')
  await writeFile(corrected, text)
  const again = summaryOf(await clinic.run('--file', corrected)).exports[0]?.rejects ?? ''
  expect(parse(readFileSync(again, 'utf8')).map((cells: string[]) => cells[6])).toEqual(
    parse(text).map((cells: string[]) => cells[6]),
  )
})

test('of the ids of accounts, which are read again as they were', async () => {
  const asked: string[] = []
  const clinic = await openClinic({
    faultOf: ({ method, query }) => {
      if (method === 'DELETE') asked.push(new URLSearchParams(query).get('accountReference') ?? '')
      return PASS
    },
  })
  await clinic.deliver('a.csv', `${HEADER}${ANN.replace('ann', '=cmd')}${ANN.replace('ann', '-5')}`)
  await clinic.run()
  const file = join(clinic.workplace.folder, 'ids.csv')
  await writeFile(file, "partnerAccountId,accountId\n'=cmd,\n-5,\n")
  const { code } = await clinic.workplace.waybill('accounts', 'erase', '--file', file, '--yes', '--json')
  expect([code, asked.toSorted()]).toEqual([0, ['-5', '=cmd']])
})
