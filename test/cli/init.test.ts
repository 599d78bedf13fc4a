/** A folder that is begun with `waybill init`, as somebody has it who has installed the package. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createWorkplace, PROJECT, type Workplace } from './command-line.ts'

/** Nothing of this project is named: the folder alone, and what is shipped. */
async function openEmpty(): Promise<{ readonly workplace: Workplace; readonly folder: string }> {
  const workplace = await createWorkplace()
  for (const name of ['WAYBILL_HOME', 'WAYBILL_JOBS', 'WAYBILL_MAPPINGS', 'WAYBILL_GATEWAY_URL'])
    delete workplace.environment[name]
  return { workplace, folder: workplace.folder }
}

test('the sample job runs in it, with the catalog that is shipped', async () => {
  const { workplace, folder } = await openEmpty()
  const begun = JSON.parse((await workplace.waybill('init', '--json')).out)
  expect(begun).toMatchObject({ folder, kept: [] })
  for (const name of begun.written.filter((one: string) => one !== '.env.example'))
    expect(await readFile(join(folder, name))).toEqual(await readFile(join(PROJECT, name)))
  expect(await readdir(join(folder, 'mappings'))).not.toContain('catalog')

  const checked = await workplace.waybill('mapping', 'test')
  expect([checked.code, checked.out]).toEqual([0, expect.stringContaining('acme-onsite')])
  const { code, out } = await workplace.waybill('run', 'nightly-screenings', '--dry-run', '--json')
  expect(code).toBe(1)
  // As samples/README.md has them.
  expect(JSON.parse(out)).toMatchObject({ rows: { read: 5_510, mapped: 5_373, skipped: 115, rejected: 22 } })
})

test('nothing that is there already is overwritten', async () => {
  const { workplace, folder } = await openEmpty()
  await mkdir(join(folder, 'mine/mappings'), { recursive: true })
  await writeFile(join(folder, 'mine/mappings/acme-onsite.yaml'), 'mine\n')
  const { out, code } = await workplace.waybill('init', 'mine')
  expect(code).toBe(0)
  expect(out).toContain('Kept     mappings/acme-onsite.yaml: exists already\n')
  expect(out).toContain('  cd mine\n')
  expect(await readFile(join(folder, 'mine/mappings/acme-onsite.yaml'), 'utf8')).toBe('mine\n')
  const again = JSON.parse((await workplace.waybill('init', 'mine', '--json')).out)
  expect(again.written).toEqual([])

  await writeFile(join(folder, 'file'), '')
  const refused = await workplace.waybill('init', 'file')
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('error usage-wrong')])
})
