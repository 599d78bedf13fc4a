/** The home that machines share, by the mark of their ledger. */
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { assertOwnHome, assertSharedHome } from '../../src/runs/shared-home.ts'
import { readSettings } from '../../src/system/settings.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const MARK = 'a'.repeat(16)
const FRESH = 'f'.repeat(16)

/** @param inHome content of the home's file @param inLedger mark of the ledger @param first mark that another machine claims at the same time */
async function machine(inHome?: string, inLedger?: string, first?: string) {
  const home = join(await temporaryFolder(), 'home')
  mkdirSync(home)
  const file = join(home, 'shared-home')
  if (inHome !== undefined) writeFileSync(file, inHome)
  let known = inLedger
  const claimed: string[] = []
  const sharedHome = {
    mark: async () => known,
    claim: async (mark: string) => {
      claimed.push(mark)
      known ??= first ?? mark
      return known
    },
  }
  const application = { settings: readSettings({ WAYBILL_HOME: home }, '/'), randomHex: () => FRESH }
  return { application, ledger: { sharedHome }, claimed, file }
}

test.each<[string, string | undefined, string | undefined, readonly string[]]>([
  ['the first machine makes its home the shared one', undefined, undefined, [FRESH]],
  ['a home that has a mark keeps it', `${MARK}\n`, undefined, [MARK]],
  ['a later machine with the mount finds the mark', `${MARK}\n`, MARK, []],
])('%s', async (_, inHome, inLedger, expected) => {
  const { application, ledger, claimed, file } = await machine(inHome, inLedger)
  const isThere = await assertSharedHome(application, ledger)
  expect(claimed).toEqual(expected)
  expect(readFileSync(file, 'utf8').trim()).toBe(expected[0] ?? MARK)
  expect([isThere(), await assertOwnHome(application, ledger)]).toEqual([true, true])
  // The mount is gone.
  writeFileSync(file, 'other')
  expect(isThere()).toBe(false)
  await expect(assertOwnHome(application, ledger)).rejects.toMatchObject({ code: 'home-differs' })
})

test.each<[string, string | undefined, string | undefined, string | undefined]>([
  ['has no mark', undefined, MARK, undefined],
  ['has another mark', FRESH, MARK, undefined],
  ['is claimed second', undefined, undefined, MARK],
])('a home that %s is refused, with the mark to write', async (_, inHome, inLedger, first) => {
  const { application, ledger, file } = await machine(inHome, inLedger, first)
  const refused = { code: 'home-differs', remedy: expect.stringContaining(`write ${MARK} into ${file}`) }
  await expect(assertSharedHome(application, ledger)).rejects.toMatchObject(refused)
})

test('a folder in the place of the mark is none', async () => {
  const { application, ledger, file } = await machine(undefined, MARK)
  mkdirSync(file)
  await expect(assertSharedHome(application, ledger)).rejects.toMatchObject({ code: 'home-differs' })
})

test('without a ledger on a server every home is its own; without a mark, too', async () => {
  const { application, ledger, file } = await machine()
  expect((await assertSharedHome(application, {}))()).toBe(true)
  expect(await assertOwnHome(application, {})).toBe(false)
  expect(await assertOwnHome(application, ledger)).toBe(false)
  const later = await machine(MARK)
  expect(await assertOwnHome(later.application, later.ledger)).toBe(false)
  expect(() => readFileSync(file)).toThrow('ENOENT')
})

test.each<[string, (home: string) => string]>([
  ['with a slash behind it', (home) => `${home}/`],
  ['by a way round', (home) => `${home}/../${basename(home)}`],
  [
    'by a link',
    (home) => {
      symlinkSync(home, `${home}-link`)
      return `${home}-link`
    },
  ],
  [
    'at another mount point',
    (home) => {
      renameSync(home, `${home}-mounted`)
      return `${home}-mounted`
    },
  ],
])('the shared home is the same %s', async (_, named) => {
  const { application, ledger } = await machine(MARK, MARK)
  const home = named(application.settings.home)
  expect((await assertSharedHome({ ...application, settings: { home } }, ledger))()).toBe(true)
})
