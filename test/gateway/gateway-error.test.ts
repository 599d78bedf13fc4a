import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { client, failureOf, json, serve, serveRaw } from './loopback.ts'

const SECRET = 'Wilhelmina Participant'
const BODY = JSON.stringify([{ name: SECRET }])
const ACCOUNT = { reference: 'participant-4711', type: 'partnerAccountId' } as const

describe('what an error holds', () => {
  it('gives the words of the gateway in their own field alone, cut at 500 characters', async () => {
    const errors = [{ code: 0, message: `name ${SECRET} is wrong` }, { message: 'y'.repeat(900) }, 'and this']
    const server = await serve(() => json(422, { code: 422, message: 'Failure.', errors }))
    const failure = await failureOf(client(server.url).biometrics.createBulk(BODY, 1))
    expect(failure.gatewayMessage).toMatch(new RegExp(`^Failure\\.; name ${SECRET} is wrong; y+$`))
    expect(failure.gatewayMessage).toHaveLength(500)
    expect(failure.message).toBe(
      'create biometrics bulk: POST /health-profile/biometrics/bulk was answered 422',
    )
    expect(inspect(failure, { depth: 9 })).not.toContain(SECRET)
    expect(JSON.stringify(failure)).not.toContain(SECRET)
  })

  it.each([['<p>No.</p>'], [''], ['"No."'], ['null'], ['{"message":""}'], ['{"message":{"a":1}}']])(
    'has no words where the body is %s',
    async (body) => {
      const server = await serve(() => ({ status: 400, body }))
      const failure = await failureOf(client(server.url).biometrics.createBulk(BODY, 1))
      expect(failure).toMatchObject({ class: 'refused', status: 400 })
      expect(failure.gatewayMessage).toBeUndefined()
    },
  )

  it('holds neither body nor credentials nor the query, even where its cause is printed', async () => {
    const server = await serveRaw((request) => {
      request.resume().on('end', () => request.socket.resetAndDestroy())
    })
    const gateway = client(server.url)
    for (const call of [gateway.biometrics.createBulk(BODY, 1), gateway.biometrics.read(ACCOUNT)]) {
      const failure = await failureOf(call)
      const printed = inspect(failure, { depth: 20, showHidden: true })
      for (const secret of [SECRET, 'the-key', 'the-token', ACCOUNT.reference])
        expect(printed).not.toContain(secret)
    }
  })
})
