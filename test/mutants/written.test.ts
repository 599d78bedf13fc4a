import { expect, test } from 'vitest'
import { writtenFaults } from './written.ts'

test('each written mistake has one name, its text once in the sources, and its tests', async () => {
  const faults = await writtenFaults([])
  expect(
    faults.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`])),
  ).toEqual([])
  expect(new Set(faults.map(({ name }) => name)).size).toBe(faults.length)
})
