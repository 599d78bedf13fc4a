import { chmod } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { checkClock, checkHome, roomOf } from '../../src/operate/check-machine.ts'
import { type Check, exitOf, type Level } from '../../src/operate/finding.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const NOW = Date.UTC(2026, 2, 2, 7)
const gatewayAt = (ms: number) => ({ date: new Date(ms).toUTCString(), cameAt: NOW })

test.each([
  [0, 'ok'],
  [120_000, 'ok'],
  [-120_000, 'ok'],
  [121_000, 'warning'],
  [-121_000, 'warning'],
])('a clock that is %i ms from the gateway’s is %s', (off, level) => {
  const { level: found, found: words } = checkClock(NOW, undefined, gatewayAt(NOW - off))
  expect(found).toBe(level)
  if (level === 'warning') expect(words).toContain(off > 0 ? '121 s ahead of' : '121 s behind')
})

test('before the latest run is a problem, whatever the gateway says; a date that is none is no other clock', () => {
  expect(checkClock(NOW, NOW + 1, gatewayAt(NOW)).level).toBe('problem')
  expect(checkClock(NOW, NOW, gatewayAt(NOW)).level).toBe('ok')
  expect(checkClock(NOW, undefined, { date: 'soon', cameAt: NOW })).toMatchObject({
    level: 'ok',
    found: expect.stringContaining('no other clock to compare with'),
  })
})

test.each([
  [1024 ** 3, 'ok'],
  [1024 ** 3 - 1, 'warning'],
  [50 * 1024 ** 2, 'warning'],
  [50 * 1024 ** 2 - 1, 'problem'],
])('%i bytes free is %s', (bytes, level) => {
  expect(roomOf(bytes).level).toBe(level)
})

test.each([
  [0o700, 'ok'],
  [0o710, 'warning'],
  [0o740, 'warning'],
  [0o701, 'warning'],
])('a home of mode %o is %s', async (mode, level) => {
  const home = await temporaryFolder()
  await chmod(home, mode)
  expect((await checkHome(home))[0]?.level).toBe(level)
})

const of = (...findings: [Level, Check][]) =>
  exitOf(findings.map(([level, check]) => ({ level, check, found: '' })))

test('2 where something here must be put right, 3 where the gateway or the token alone', () => {
  expect(of(['ok', 'home'], ['warning', 'ledger'])).toBe(0)
  expect(of(['problem', 'gateway'], ['warning', 'token'])).toBe(3)
  expect(of(['problem', 'gateway'], ['problem', 'token'])).toBe(3)
  expect(of(['problem', 'gateway'], ['problem', 'job'])).toBe(2)
})
