/** docs/upgrade.md, typed: a ledger of this version, one that a newer version has opened, and the way back. */
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { ANN, BEN, type Clinic, HEADER, openClinic } from '../cli/clinic.ts'
import { page } from './pages.ts'

/** The commands of a chapter, in their order, for the job of the test. */
const commandsOf = (chapter: string): string[] => {
  const [, text = ''] = page('docs/upgrade.md').split(`## ${chapter}\n`)
  const [own = ''] = text.split('\n## ')
  return [...own.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) =>
    block
      .trim()
      .split('\n')
      .map((line) => line.trim().replace('nightly-screenings', 'clinic')),
  )
}

async function type({ workplace }: Clinic, line: string): Promise<string> {
  const [program, ...args] = line.split(' ')
  if (program !== 'waybill') {
    execFileSync('/bin/sh', ['-c', line], {
      cwd: workplace.folder,
      env: { ...process.env, ...workplace.environment },
    })
    return ''
  }
  const { code, out, err } = await workplace.waybill(...args)
  // Doctor finds what a test has not: an address with TLS, free bytes, a schedule.
  expect([0, 1, 2, 3].includes(code ?? -1), `${line}: ${out}${err}`).toBe(true)
  return out + err
}

it('after an upgrade nothing is sent again, and the way back doubles nothing', async () => {
  const clinic = await openClinic()
  const home = join(clinic.workplace.folder, '.waybill')
  Object.assign(clinic.workplace.environment, { WAYBILL_HOME: home })
  await clinic.deliver('a.csv', HEADER + ANN)
  expect((await clinic.run()).code).toBe(0)
  const said = new Map<string, string>()
  for (const line of commandsOf('Upgrade')) said.set(line, await type(clinic, line))
  expect(said.get('waybill run clinic --dry-run')).toMatch(/made 3: 0 to send, 3 delivered before/)
  expect(said.get('waybill backup before-upgrade.sqlite')).toContain('copied to before-upgrade.sqlite')

  // The new version delivers, and leaves its mark.
  await clinic.deliver('b.csv', HEADER + BEN)
  expect((await clinic.run()).code).toBe(0)
  const ledger = join(home, 'ledger.sqlite')
  const database = new DatabaseSync(ledger)
  database.exec("insert into kysely_migration values ('9999-of-the-future', '2099-01-01T00:00:00.000Z')")
  database.close()
  const { code, out } = await clinic.run()
  expect([code, JSON.parse(out).error.code]).toEqual([2, 'ledger-newer'])

  const stored = await clinic.stored()
  let back = ''
  for (const line of commandsOf('Rollback')) back += await type(clinic, line)
  expect(back).toMatch(/copy/)
  expect(await clinic.stored()).toEqual(stored)
  expect(stored).toHaveLength(6)
  await writeFile(join(clinic.workplace.folder, 'inbox/c.csv'), HEADER + ANN + BEN)
  await clinic.run()
  expect(await clinic.stored()).toEqual(stored)
})
