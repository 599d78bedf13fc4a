import { describe, expect, it } from 'vitest'
import { ByteSize, Duration, Share } from '../../src/definitions/export-definition.ts'

describe('quantities', () => {
  it.each([
    ['30m', 1_800_000],
    ['250ms', 250],
    ['1.5h', 5_400_000],
    ['2 d', 172_800_000],
    ['0s', 0],
  ])('duration %s is %d ms', (text, ms) => {
    expect(Duration.parse(text)).toBe(ms)
  })
  it.each([
    ['1MiB', 1_048_576],
    ['1MB', 1_000_000],
    ['1.5 KiB', 1536],
    ['512B', 512],
    ['1GiB', 1_073_741_824],
    ['3kB', 3000],
  ])('size %s is %d bytes', (text, bytes) => {
    expect(ByteSize.parse(text)).toBe(bytes)
  })
  it.each([
    ['5%', 0.05],
    ['0%', 0],
    ['100%', 1],
    ['12.5 %', 0.125],
  ])('share %s is %d', (text, share) => {
    expect(Share.parse(text)).toBeCloseTo(share, 12)
  })
  it.each([
    [Duration, ['30', '30min', '-1s', 'm', '', '1m30s', '1e3s']],
    [ByteSize, ['1mb', '1', '1 kib', '-1B', '']],
    [Share, ['5', '101%', '-1%', '0.05', '%', '1000%']],
  ])('refuse what is none', (schema, texts) => {
    for (const text of texts)
      expect(schema.safeParse(text).error?.issues[0]?.message, text).toMatch(/^must be/)
    expect(schema.safeParse(30).success).toBe(false)
  })
})
