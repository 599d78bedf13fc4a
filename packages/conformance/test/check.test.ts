import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { serveRaw } from '../../../test/gateway/loopback.ts'
import { inSection } from '../src/case.ts'
import { createClient } from '../src/client.ts'
import { checkSafely, SUITE } from '../src/suite.ts'

const BASE = { apiKey: 'key', accessToken: 'token', makeId: randomUUID }

/** A gateway that takes every call and never answers; ends with the test. */
const silentGateway = async (): Promise<string> => (await serveRaw(() => {})).url

test('a gateway that never answers differs in everything that is asked, and holds nothing up', async () => {
  const baseUrl = await silentGateway()
  const signal = new AbortController().signal
  const client = createClient({ ...BASE, baseUrl, timeLimitMs: 50, signal })
  const account = { reference: 'p-1', type: 'partnerAccountId' } as const
  const results = await checkSafely(SUITE, client, account)
  const safe = SUITE.filter(({ needs }) => needs === 'nothing' || needs === 'account')
  expect(results.filter(({ result }) => result === 'differs')).toHaveLength(safe.length)
  for (const { result, words } of results)
    expect(words).toMatch(result === 'differs' ? /: no whole answer within 0\.05 s$/ : /it would store/)
})

test('an interruption ends the check at once, with its reason', async () => {
  const baseUrl = await silentGateway()
  const controller = new AbortController()
  const client = createClient({ ...BASE, baseUrl, timeLimitMs: 60_000, signal: controller.signal })
  const checking = checkSafely(SUITE, client, undefined)
  controller.abort(new Error('interrupted'))
  await expect(checking).rejects.toThrow('interrupted')
})

test('what is no finding of a case is not taken for one', async () => {
  const broken = inSection('Limits').nothing({
    'a defect': async () => {
      throw new TypeError('a defect')
    },
  })
  const signal = new AbortController().signal
  const client = createClient({ ...BASE, baseUrl: await silentGateway(), timeLimitMs: 50, signal })
  await expect(checkSafely(broken, client, undefined)).rejects.toThrow(TypeError)
})
