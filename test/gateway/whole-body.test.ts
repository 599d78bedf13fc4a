import { expect, it } from 'vitest'
import { WholeBody } from '../../src/gateway/transport.ts'

it('goes out in one piece, and holds nothing that a structured clone would copy', () => {
  const bytes = Buffer.alloc(200_000, 'a')
  const body = new WholeBody(bytes)
  expect([...body]).toEqual([bytes])
  expect([...body]).toEqual([bytes])
  const clone: object = structuredClone(body)
  expect(Reflect.ownKeys(clone)).toEqual([])
})
