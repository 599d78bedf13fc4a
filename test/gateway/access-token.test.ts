import { describe, expect, it } from 'vitest'
import { client, echoing, failureOf, json, serve } from './loopback.ts'

const authorization = (seen: { headers: { authorization?: string | undefined } }) =>
  seen.headers.authorization

describe('the access token', () => {
  it('is fetched once, and anew only when asked for', async () => {
    const server = await serve((seen) =>
      authorization(seen) === 'Bearer fresh' ? echoing('a') : json(401, { message: 'Expired.' }),
    )
    const fetched: string[] = []
    const gateway = client(server.url, {
      accessToken: async () => {
        fetched.push('stale')
        return 'stale'
      },
      renewAccessToken: async () => {
        fetched.push('fresh')
        return 'fresh'
      },
    })
    expect((await failureOf(gateway.biometrics.sendBulk('[]', 1))).class).toBe('stale-token')
    expect((await failureOf(gateway.biometrics.sendBulk('[]', 1))).class).toBe('stale-token')
    await Promise.all([gateway.renewToken(), gateway.renewToken()])
    expect((await gateway.biometrics.sendBulk('[]', 1)).class).toBe('accepted')
    expect(fetched).toEqual(['stale', 'fresh'])
    expect(server.seen.map(authorization)).toEqual(['Bearer stale', 'Bearer stale', 'Bearer fresh'])
  })

  it('of a person is sent in its place, in the calls for that person alone', async () => {
    const server = await serve(() => json(404, {}))
    const gateway = client(server.url, {
      accessToken: async () => 'of all',
      userToken: async ({ reference }) => `of ${reference}`,
    })
    await gateway.assessment.currentPage().catch(() => {})
    const own = await gateway.assessmentAs({ reference: 'ann', type: 'partnerAccountId' })
    await own.currentPage().catch(() => {})
    await gateway.assessment.currentPage().catch(() => {})
    expect(server.seen.map(authorization)).toEqual(['Bearer of all', 'Bearer of ann', 'Bearer of all'])
  })

  it('comes from its only source where there is no other', async () => {
    const server = await serve(() => echoing('a'))
    let fetches = 0
    const gateway = client(server.url, {
      accessToken: async () => {
        fetches += 1
        return `token-${fetches}`
      },
    })
    await gateway.biometrics.sendBulk('[]', 1)
    await gateway.renewToken()
    await gateway.biometrics.sendBulk('[]', 1)
    expect(server.seen.map(authorization)).toEqual(['Bearer token-1', 'Bearer token-2'])
  })

  it('is asked for again after its source failed, and the failure is passed on', async () => {
    const server = await serve(() => echoing('a'))
    const noToken = new Error('no token today')
    const tokens = [Promise.reject(noToken), Promise.resolve('the-token')]
    const gateway = client(server.url, { accessToken: async () => (await tokens.shift()) ?? '' })
    await expect(gateway.biometrics.sendBulk('[]', 1)).rejects.toBe(noToken)
    expect(server.seen).toEqual([])
    expect((await gateway.biometrics.sendBulk('[]', 1)).class).toBe('accepted')
  })

  it('that was renewed stays, where an earlier fetch fails afterwards', async () => {
    const server = await serve(() => echoing('a'))
    const late = Promise.withResolvers<string>()
    let renewals = 0
    const gateway = client(server.url, {
      accessToken: () => late.promise,
      renewAccessToken: async () => `token-${++renewals}`,
    })
    const first = gateway.biometrics.sendBulk('[]', 1)
    await gateway.renewToken()
    late.reject(new Error('no token today'))
    await expect(first).rejects.toThrow('no token today')
    await gateway.biometrics.sendBulk('[]', 1)
    expect(server.seen.map(authorization)).toEqual(['Bearer token-1'])
  })

  it.each(['', 'two\nlines', 'na\u0000ught'])(
    'is not sent where a header cannot carry it: %j',
    async (token) => {
      const server = await serve(() => echoing('a'))
      const gateway = client(server.url, { accessToken: async () => token })
      await expect(gateway.biometrics.sendBulk('[]', 1)).rejects.toMatchObject({
        code: 'settings-invalid',
        place: { key: 'WAYBILL_ACCESS_TOKEN' },
      })
      expect(server.seen).toEqual([])
    },
  )
})
