import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { codeOfErrorBody } from '../../src/gateway/gateway-error.ts'
import { client, failureOf, json, serve, serveRaw } from './loopback.ts'

const SECRET = 'Wilhelmina Participant'
const BODY = JSON.stringify([{ name: SECRET }])
const ACCOUNT = { reference: 'participant-4711', type: 'partnerAccountId' } as const

describe('what an error holds', () => {
  it('gives the words of the gateway in their own field alone, cut at 500 characters', async () => {
    const errors = [{ code: 0, message: `name ${SECRET} is wrong` }, { message: 'y'.repeat(900) }, 'and this']
    const server = await serve(() => json(422, { code: 422, message: 'Failure.', errors }))
    const failure = await failureOf(client(server.url).biometrics.sendBulk(BODY, 1))
    expect(failure.gatewayMessage).toMatch(new RegExp(`^Failure\\.; name ${SECRET} is wrong; y+$`))
    expect(failure.gatewayMessage).toHaveLength(500)
    expect(failure.message).toBe(
      'create biometrics bulk: POST /health-profile/biometrics/bulk was answered 422',
    )
    expect(inspect(failure, { depth: 9 })).not.toContain(SECRET)
    expect(JSON.stringify(failure)).not.toContain(SECRET)
  })

  it('gives the reasons of an inner envelope first, each once, then the phrase around them', async () => {
    const inner = {
      code: 400,
      message: 'Validation failed',
      errors: [
        { code: 0, message: 'patient first name is null or empty, block 1' },
        { code: 1, message: 'no provider, block 2' },
      ],
    }
    const message = `Failed to process the request: ${JSON.stringify(inner)}.`
    const errors = [{ code: 400, message, exception: null }, { message: 'and this' }]
    const server = await serve(() => json(400, { code: 400, message, errors }))
    const failure = await failureOf(client(server.url).medicalRecords.requestTypes())
    expect(failure.gatewayMessage).toBe(
      'patient first name is null or empty, block 1; no provider, block 2; Validation failed; ' +
        'Failed to process the request; and this',
    )
  })

  it('unwraps an envelope within an envelope, and cuts the words at 500 characters', async () => {
    const innermost = JSON.stringify({ errors: ['first', 'y'.repeat(900)] })
    const inner = JSON.stringify({ code: 1, message: `Inner: ${innermost}` })
    const server = await serve(() => json(400, { message: `Outer: ${inner}` }))
    const failure = await failureOf(client(server.url).medicalRecords.requestTypes())
    expect(failure.gatewayMessage).toMatch(/^first; y+$/)
    expect(failure.gatewayMessage).toHaveLength(500)
  })

  it.each([
    'no field {name} here',
    'an empty {} envelope',
    'an envelope {"code":1} without words',
    'Failed: {"mess',
    'Failed: {code=400}',
  ])('leaves as it is what wraps no words: %s', async (message) => {
    const server = await serve(() => json(400, { code: 400, message }))
    const failure = await failureOf(client(server.url).medicalRecords.requestTypes())
    expect(failure.gatewayMessage).toBe(message)
  })

  it.each([['<p>No.</p>'], [''], ['"No."'], ['null'], ['{"message":""}'], ['{"message":{"a":1}}']])(
    'has no words where the body is %s',
    async (body) => {
      const server = await serve(() => ({ status: 400, body }))
      const failure = await failureOf(client(server.url).biometrics.sendBulk(BODY, 1))
      expect(failure).toMatchObject({ class: 'refused', status: 400 })
      expect(failure.gatewayMessage).toBeUndefined()
    },
  )

  it('holds neither body nor credentials nor the query, even where its cause is printed', async () => {
    const server = await serveRaw((request) => {
      request.resume().on('end', () => request.socket.resetAndDestroy())
    })
    const gateway = client(server.url)
    for (const call of [gateway.biometrics.sendBulk(BODY, 1), gateway.biometrics.read(ACCOUNT)]) {
      const failure = await failureOf(call)
      const printed = inspect(failure, { depth: 20, showHidden: true })
      for (const secret of [SECRET, 'the-key', 'the-token', ACCOUNT.reference])
        expect(printed).not.toContain(secret)
    }
  })
})

// Section "Envelope"; the answer to a read of conditions may nest it.
it.each<[string, unknown, number | undefined]>([
  ['with nothing else', { code: 400 }, 400],
  ['as text', { code: '400', message: 'no', errors: [{ code: 1 }] }, 400],
  ['with an empty list of records', { code: 400, data: [] }, 400],
  ['with an empty list that is nested', { code: 400, data: { data: [], page: 1 } }, 400],
  ['with null for records and errors', { code: 400, data: null, errors: null }, 400],
  ['beside a record', { code: 400, data: [{}] }, undefined],
  ['beside a record that is nested', { code: 400, data: { data: [{}] } }, undefined],
  ['beside errors that are no list', { code: 400, errors: 'no' }, undefined],
  ['that is no status', { code: 'ERR_UPSTREAM', message: 'no' }, undefined],
  ['that is empty', { code: '' }, undefined],
  ['in no object', '400', undefined],
])('a refusal as a whole has a code: %s', (_, body, code) => {
  expect(codeOfErrorBody(body)).toBe(code)
})
