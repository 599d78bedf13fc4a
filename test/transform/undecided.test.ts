import { expect, test } from 'vitest'
import { undecidedLines } from '../../src/transform/mapping-definition.ts'

test.each([
  ['# Drafted from a.csv. What DECIDE asks needs an answer before this is used.', false],
  ['# Lines with DECIDE need an answer before this is used.', false],
  ['# DECIDE: which zone?', true],
  ['observedAt: { from: a, zone: UTC } # DECIDE: of which place?', true],
  ['  observedAt: { constant: "1900-01-01T00:00:00.000Z" }', true],
  ['  observedAt: { constant: 1900-01-01 }', true],
  ["    constant: '1900-01-01T00:00:00Z'", true],
  ['  observedAt: { from: a, emptyWhen: ["1900-01-01T00:00:00.000Z"] }', false],
  ['  # constant: "1900-01-01T00:00:00.000Z"', false],
  ['  observedAt: { constant: "2026-01-31T12:00:00.000Z" }', false],
])('%s', (line, undecided) => {
  expect(undecidedLines(`mapping: x\n${line}\nrow:\n`)).toEqual(undecided ? [2] : [])
})
