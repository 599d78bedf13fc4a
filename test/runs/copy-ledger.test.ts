/** Ledgers that are not copied: each is refused before any database is asked. */
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createApplication } from '../../src/application.ts'
import { copyLedger } from '../../src/runs/copy-ledger.ts'
import { readSettings } from '../../src/system/settings.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const NOWHERE = 'postgres://waybill@127.0.0.1:1/other'
const PLAIN = 'postgres://waybill@db.example/other?sslmode=disable'
const NO_LEDGER = 'no ledger'.repeat(1_000)

test.each<[string, string | undefined, string, Record<string, string>, string, RegExp]>([
  ['no file', undefined, NOWHERE, {}, 'ledger-not-found', /there is no ledger in the home/],
  ['an empty file', '', NOWHERE, {}, 'ledger-not-found', /there is no ledger in the home/],
  ['a ledger that is no file', undefined, NOWHERE, { WAYBILL_LEDGER: NOWHERE }, 'usage-wrong', /in a file$/],
  ['another file', NO_LEDGER, NOWHERE, {}, 'ledger-unusable', /ledger\.sqlite/],
  [
    'an address of another program',
    undefined,
    'https://db.example',
    {},
    'usage-wrong',
    /^the address of --to is/,
  ],
  ['an address without TLS', undefined, PLAIN, {}, 'usage-wrong', /^the address of --to .*without TLS/],
  [
    'an address that settings allow',
    undefined,
    PLAIN,
    { WAYBILL_LEDGER_UNENCRYPTED: 'true' },
    'ledger-not-found',
    /there is no ledger/,
  ],
])('%s is refused', async (_, content, to, variables, code, message) => {
  const home = await temporaryFolder()
  if (content !== undefined) await writeFile(join(home, 'ledger.sqlite'), content, { mode: 0o600 })
  const settings = readSettings({ WAYBILL_HOME: home, ...variables }, home)
  const application = createApplication('0', settings, () => {}, new AbortController().signal)
  await expect(copyLedger(application, to)).rejects.toMatchObject({
    ...{ code, message: expect.stringMatching(message) },
  })
})

test('a ledger behind a link is not written', async () => {
  const [home, elsewhere] = [await temporaryFolder(), await temporaryFolder()]
  const settings = readSettings({ WAYBILL_HOME: elsewhere }, home)
  const other = createApplication('0', settings, () => {}, new AbortController().signal)
  await (await other.openLedger()).close()
  await symlink(join(elsewhere, 'ledger.sqlite'), join(home, 'ledger.sqlite'))
  const own = readSettings({ WAYBILL_HOME: home }, home)
  const application = createApplication('0', own, () => {}, new AbortController().signal)
  await expect(copyLedger(application, NOWHERE)).rejects.toMatchObject({
    ...{ code: 'home-unusable', message: expect.stringContaining('link') },
  })
})

test('the database of --to is asked, whatever the settings name', async () => {
  const home = await temporaryFolder()
  const ofFile = readSettings({ WAYBILL_HOME: home }, home)
  const application = createApplication('0', ofFile, () => {}, new AbortController().signal)
  await (await application.openLedger()).close()
  for (const WAYBILL_LEDGER of [undefined, 'postgres://waybill@127.0.0.1:2/waybill']) {
    const settings = readSettings({ WAYBILL_HOME: home, WAYBILL_LEDGER }, home)
    await expect(copyLedger({ ...application, settings }, NOWHERE)).rejects.toMatchObject({
      ...{ code: 'ledger-unusable', message: expect.stringContaining('127.0.0.1:1') },
    })
  }
})
