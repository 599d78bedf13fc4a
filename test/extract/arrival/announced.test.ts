import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  type ArrivalRules,
  completeExports,
  readChecksum,
  readManifest,
  sortExports,
  verifyChecksum,
  verifySize,
  type WaitingExport,
  waitingLines,
} from '../../../src/extract/arrival/verify-delivery.ts'
import type { Delivery } from '../../../src/extract/sources/source.ts'
import { exportFile } from '../export-file.ts'

const SHA256 = createHash('sha256').update('abc').digest('hex')
const MD5 = createHash('md5').update('abc').digest('hex')
const OTHER = createHash('sha256').update('other').digest('hex')

describe('a checksum file', () => {
  it.each([
    ['sha256sum', `${SHA256}  a.csv\n`],
    ['sha256sum of a binary file', `${SHA256} *a.csv\n`],
    ['sha256sum of several', `${OTHER}  b.csv\n${SHA256}  out/a.csv\n`],
    ['on Windows', `\ufeff${SHA256.toUpperCase()} *C:\\out\\a.csv\r\n`],
    ['BSD', `SHA256 (b.csv) = ${OTHER}\nSHA256 (a.csv) = ${SHA256}\n`],
    ['the digest alone', SHA256],
    ['one line with another name, as before encryption', `${SHA256}  a\n`],
    ['comments', `# by the vendor\n\n${SHA256}  a.csv\n`],
  ])('of the form %s', (_, text) => {
    expect(readChecksum(text, 'a.csv')).toEqual({ algorithm: 'sha256', digest: SHA256 })
  })

  it.each([
    ['md5sum', `${MD5}  a.csv\n`],
    ['BSD', `MD5 (a.csv) = ${MD5}\n`],
  ])('with MD5, %s', (_, text) => {
    expect(readChecksum(text, 'a.csv')).toEqual({ algorithm: 'md5', digest: MD5 })
  })

  it.each([
    ['nothing', ''],
    ['prose', 'the checksum follows by mail\n'],
    ['other files', `${OTHER}  b.csv\n${OTHER}  c.csv\n`],
    ['digits of no length', `${SHA256.slice(1)}  a.csv\n`],
    ['a name of an algorithm that does not fit', `MD5 (a.csv) = ${SHA256}\n`],
  ])('with %s has no checksum', (_, text) => {
    expect(readChecksum(text, 'a.csv')).toBeUndefined()
  })
})

describe('a manifest', () => {
  it.each([
    ['CSV', `File Name,Row Count,SHA-256,Size\nout/a.csv,3,${SHA256.toUpperCase()},17\nb.csv,,,\n`],
    ['JSON', JSON.stringify([{ name: 'a.csv', rows: 3, sha256: SHA256, bytes: 17 }, { name: 'b.csv' }])],
    [
      'JSON with files',
      JSON.stringify({
        files: [{ filename: 'a.csv', records: '3', checksum: SHA256, size: 17 }, { file: 'b.csv' }],
      }),
    ],
  ])('in %s', (_, text) => {
    expect([...readManifest(text, 'm')]).toEqual([
      ['a.csv', { bytes: 17, rows: 3, sha256: SHA256 }],
      ['b.csv', {}],
    ])
  })

  it.each([
    ...['name', 'file', 'File-Name'].map((head) => [head, 'a.csv', {}] as const),
    ...['bytes', 'size', 'file size', 'size_bytes'].map((head) => [head, '17', { bytes: 17 }] as const),
    ...['rows', 'Row Count', 'records', 'record_count', 'COUNT'].map(
      (head) => [head, '3', { rows: 3 }] as const,
    ),
    ...['SHA-256', 'sha256sum', 'checksum', 'digest'].map(
      (head) => [head, SHA256, { sha256: SHA256 }] as const,
    ),
  ])('may call a column %s', (head, cell, said) => {
    const isName = cell === 'a.csv'
    const text = isName ? `${head}\n${cell}\n` : `name,${head}\na.csv,${cell}\n`
    expect([...readManifest(text, 'm')]).toEqual([['a.csv', said]])
  })

  it.each([
    ['no name', 'rows\n3\n'],
    ['a number that is none', 'name,rows\na.csv,many\n'],
    ['a digest that is none', 'name,sha256\na.csv,abc\n'],
    ['broken JSON', '[{"name": "secret-name'],
    ['ragged CSV', 'name,rows\na.csv\n'],
  ])('with %s is unreadable, and not quoted', (_, text) => {
    expect(() => readManifest(text, 'm')).toThrow(expect.objectContaining({ code: 'export-unreadable' }))
    expect(() => readManifest(text, 'm')).not.toThrow(/secret|many|abc/)
  })
})

describe('what came', () => {
  it('is compared with what was announced, and both are told', async () => {
    const file = await exportFile('abc')
    await verifySize('in/a.csv', file, 3)
    await verifyChecksum('in/a.csv', file, { algorithm: 'sha256', digest: SHA256 })
    await verifyChecksum('in/a.csv', file, { algorithm: 'md5', digest: MD5 })
    await expect(verifySize('in/a.csv', file, 4)).rejects.toMatchObject({
      code: 'export-not-as-announced',
      message: expect.stringMatching(/should be 4, but is 3/),
      place: { file: 'in/a.csv' },
    })
    const wrong = verifyChecksum('in/a.csv', file, { algorithm: 'sha256', digest: OTHER })
    await expect(wrong).rejects.toMatchObject({
      code: 'export-not-as-announced',
      message: expect.stringContaining(`should be ${OTHER}, but is ${SHA256}`),
    })
  })
})

describe('an export is complete', () => {
  const NOW = 1_000_000
  const lists = (...names: string[]): Delivery[] =>
    names.map((name) => ({ name, bytes: 1, modifiedAt: NOW - 1000, version: name }))
  const complete = (rules: Partial<ArrivalRules>, listing: Delivery[], announced: string[] = []): string[] =>
    completeExports(
      { match: 'a_{date:yyyyMMdd}.csv*', stableForMs: 0, ...rules },
      listing,
      new Map(announced.map((name) => [name, {}])),
      NOW,
    ).map(({ delivery }) => delivery.name)
  const A = 'a_20260301.csv'
  const B = 'a_20260302.csv.gz'

  it('when it has not changed for long enough', () => {
    expect(complete({ stableForMs: 1000 }, lists(B, A))).toEqual([A, B])
    expect(complete({ stableForMs: 1001 }, lists(B, A))).toEqual([])
  })

  it('or whatever its date says, where the job does not say for how long', () => {
    const [ahead] = lists(A)
    const future = { ...(ahead ?? expect.fail()), modifiedAt: NOW + 86_400_000 }
    expect(complete({}, [future])).toEqual([A])
    expect(complete({ stableForMs: 1 }, [future])).toEqual([A])
  })

  it('and else is told with what it lacks', () => {
    const rules = { match: '*.csv', stableForMs: 5000, marker: '{name}.done', checksum: '{name}.md5' }
    const listing = lists('a.csv', 'b.csv', 'b.csv.done', 'c.csv', 'c.csv.md5')
    const waiting = (more: Partial<ArrivalRules>) =>
      sortExports({ ...rules, ...more }, listing, new Map([['a.csv', {}]]), NOW).waiting.map(
        ({ delivery, lacks }) => `${delivery.name} ${lacks.join(' ')}`,
      )
    expect(waiting({})).toEqual(['a.csv rest marker checksum', 'b.csv rest checksum', 'c.csv rest marker'])
    expect(waiting({ stableForMs: 0, manifest: 'm.json', marker: undefined, checksum: undefined })).toEqual([
      'b.csv manifest',
      'c.csv manifest',
    ])
  })

  it.each([
    [20, 20, 'a20.csv: no manifest names it'],
    [21, 21, '1 more are incomplete'],
    [25, 21, '5 more are incomplete'],
  ])('and of %i that are not %i lines are told', (count, lines, last) => {
    const rules = { match: '*.csv', stableForMs: 0 }
    const waiting = lists(...Array.from({ length: count }, (_, at) => `a${at + 1}.csv`)).map(
      (delivery): WaitingExport => ({ delivery, lacks: ['manifest'] }),
    )
    const told = waitingLines(waiting, rules)
    expect([told.length, told.at(-1)]).toEqual([lines, last])
  })

  it('when its marker is there, which is no export itself', () => {
    expect(complete({ marker: '{name}.done' }, lists(A, B, `${B}.done`))).toEqual([B])
    expect(complete({ marker: '{name}.done' }, lists(`${A}.done`))).toEqual([])
  })

  it('when its checksum file is there, which is no export itself', () => {
    expect(complete({ checksum: '{name}.sha256' }, lists(A, `${A}.sha256`, B))).toEqual([A])
    expect(complete({ checksum: 'SHA256SUMS' }, lists(A, B, 'SHA256SUMS'))).toEqual([A, B])
  })

  it('when a manifest names it, which is no export itself', () => {
    const manifest = 'a_{date:yyyyMMdd}.csv.manifest'
    expect(complete({ manifest }, lists(A, B, 'a_20260302.csv.manifest'), [B])).toEqual([B])
  })

  it('when all of these are so that the job asks for', () => {
    const rules = { marker: '{name}.done', stableForMs: 1001 }
    expect(complete(rules, lists(A, `${A}.done`))).toEqual([])
  })
})
