/** A home, or a key in it, that this user may not read is no home without them. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withKnownLedger } from '../../src/runs/application.ts'
import { readOrMakeKey } from '../../src/runs/which-installation.ts'
import { readSettings } from '../../src/system/settings.ts'
import { temporaryFolder } from '../temporary-folder.ts'

test('a ledger that may not be looked at is not said to be missing', async () => {
  const home = join(await temporaryFolder(), 'loop')
  symlinkSync(home, home)
  const settings = readSettings({ WAYBILL_HOME: home }, '/')
  const openLedger = () => expect.fail('opened')
  await expect(withKnownLedger({ settings, openLedger }, async () => {})).rejects.toMatchObject({
    code: 'home-unusable',
  })
})

test('a key that cannot be read is told as that', async () => {
  const file = join(await temporaryFolder(), 'key')
  mkdirSync(file, { mode: 0o700 })
  expect(() => readOrMakeKey(file, 'f'.repeat(64), false)).toThrow(
    expect.objectContaining({
      code: 'settings-invalid',
      message: expect.stringMatching(/^the key .* cannot be read: EISDIR/),
      remedy: 'Run Waybill as the user who owns it.',
    }),
  )
})
