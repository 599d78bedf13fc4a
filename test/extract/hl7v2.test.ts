import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { CORPUS, NEEDS_CORPUS } from '../needed.ts'
import { allRows, brief, exportFile, rowsOf } from './export-file.ts'

const HL7V2 = readDefinition.parse({ format: 'hl7v2' })
const MSH = 'MSH|^~\\&|LAB|N|HUB|US|2026||ORU^R01|M|P|2.5.1'

/** The document of a message with these segments behind its header. */
async function documentOf(...segments: string[]): Promise<unknown> {
  const [row, ...others] = await rowsOf([MSH, ...segments].join('\r'), HL7V2)
  expect(others).toEqual([])
  return row === undefined ? undefined : brief(row)
}
const without = (document: unknown): object => {
  const { MSH: _, ...rest } = Object(document)
  return rest
}

describe('a message', () => {
  test('has its delimiters, fields, repetitions, components and subcomponents by number; what is empty is not there', async () => {
    expect(await documentOf('PID|1||P-1^^^NORTH&1.2.3&ISO^PI~99||Moor^Diana||""')).toEqual({
      MSH: {
        ...{ 1: [{ 1: '|' }], 2: [{ 1: '^~\\&' }], 3: [{ 1: 'LAB' }], 4: [{ 1: 'N' }], 5: [{ 1: 'HUB' }] },
        ...{ 6: [{ 1: 'US' }], 7: [{ 1: '2026' }], 9: [{ 1: 'ORU', 2: 'R01' }], 10: [{ 1: 'M' }] },
        ...{ 11: [{ 1: 'P' }], 12: [{ 1: '2.5.1' }] },
      },
      PATIENT_RESULT: [
        {
          PATIENT: {
            PID: {
              1: [{ 1: '1' }],
              3: [{ 1: 'P-1', 4: { 1: 'NORTH', 2: '1.2.3', 3: 'ISO' }, 5: 'PI' }, { 1: '99' }],
              5: [{ 1: 'Moor', 2: 'Diana' }],
              7: [{ 1: '""' }],
            },
          },
        },
      ],
    })
  })

  test('has what stands behind a patient, an order, a result in their groups', async () => {
    const segments = [
      'NTE|a',
      'PID|p',
      'PV1|v',
      'ORC|o',
      'OBR|r',
      'NTE|b',
      'OBX|x',
      'NTE|c',
      'NTE|d',
      'OBX|y',
    ]
    const document = await documentOf(...segments, 'SPM|s', 'OBR|t', 'OBX|z', 'PID|q', 'OBX|w', 'ZXX|1')
    const one = (text: string) => ({ 1: [{ 1: text }] })
    expect(without(document)).toEqual({
      NTE: [one('a')],
      PATIENT_RESULT: [
        {
          PATIENT: { PID: one('p'), PV1: [one('v')] },
          ORDER_OBSERVATION: [
            {
              ORC: one('o'),
              OBR: one('r'),
              NTE: [one('b')],
              OBSERVATION: [{ OBX: one('x'), NTE: [one('c'), one('d')] }, { OBX: one('y') }],
              SPM: [one('s')],
            },
            { OBR: one('t'), OBSERVATION: [{ OBX: one('z') }] },
          ],
        },
        {
          PATIENT: { PID: one('q') },
          ORDER_OBSERVATION: [{ OBSERVATION: [{ OBX: one('w') }], ZXX: [one('1')] }],
        },
      ],
    })
  })

  test('has a note that follows another segment of the order with the order, and an order for each OBR behind results', async () => {
    const document = await documentOf('PID|p', 'ORC|o', 'OBX|x', 'SPM|s', 'NTE|n', 'OBR|r', 'OBX|y', 'ORC|q')
    const one = (text: string) => ({ 1: [{ 1: text }] })
    expect(without(document)).toMatchObject({
      PATIENT_RESULT: [
        {
          ORDER_OBSERVATION: [
            { ORC: one('o'), OBSERVATION: [{ OBX: one('x') }], SPM: [one('s')], NTE: [one('n')] },
            { OBR: one('r'), OBSERVATION: [{ OBX: one('y') }] },
            { ORC: one('q') },
          ],
        },
      ],
    })
  })

  test('has escaped delimiters, bytes and line breaks as they are meant, and leaves alone what it does not know', async () => {
    const document = await documentOf(
      'NTE|a\\F\\b\\S\\c\\T\\d\\R\\e\\E\\f\\X41C3A9\\g\\.br\\h\\H\\i\\Xzz\\j\\k',
    )
    expect(without(document)).toEqual({
      NTE: [{ 1: [{ 1: 'a|b^c&d~e\\fAég\nh\\H\\i\\Xzz\\j\\k' }] }],
    })
  })

  test('has a line feed within a field as text where its segments end with CR', async () => {
    const message = (...segments: string[]) => [MSH, ...segments, ''].join('\r')
    const note = (text: string) =>
      message('PID|1||P-1', 'OBR|1', `OBX|1|TX|NOTE||${text}||||||F`, 'OBX|2|NM|HR||62')
    const texts = ['one\ntwo', 'one\n\nMSH looks like one\nOBX is one', '\nBTS\nFHS x', 'PID 7\nA1C']
    for (const text of texts)
      for (const between of ['', '\n', '\n\n', '\v\n', '\ufeff']) {
        const rows = await rowsOf([note(text), note('plain')].join(between), HL7V2)
        expect(rows.map((row) => row.kind)).toEqual(['json', 'json'])
        const [{ OBSERVATION: seen }] = Object(brief(rows[0] ?? expect.fail())).PATIENT_RESULT[0]
          .ORDER_OBSERVATION
        expect(seen.map(({ OBX }: { OBX: unknown }) => Object(OBX)['5'])).toEqual([
          [{ 1: text }],
          [{ 1: '62' }],
        ])
      }
  })

  test('is rejected where a line feed may be the end of a segment, and others end with CR', async () => {
    const [row] = await rowsOf(`${MSH}\rPID|1||P-1\nOBR|1\nOBX|1|NM|HR||62\n`, HL7V2)
    expect(row).toMatchObject({
      fault: 'row-message-invalid',
      message: expect.stringContaining('a line feed precedes a probable segment in line 2'),
    })
  })

  test('may end with CR, and the next one stand behind a line feed; its batch counts it, and no text in it', async () => {
    const one = `${MSH}\rPID|1||P-1\rOBX|1|TX|A||a\nMSH of old`
    const batch = `BHS|^~\\&|\r${one}\n${one}\r\n\ufeff${one}\nBTS|3\r`
    expect((await rowsOf(batch, HL7V2)).map(({ kind, line }) => [kind, line])).toEqual([
      ['json', 2],
      ['json', 6],
      ['json', 10],
    ])
    const opened = await openExport(await exportFile(batch), HL7V2)
    expect(await opened.controlTotal()).toEqual({ stated: 3, found: 3 })
  })

  test('may have other delimiters, and fewer of them', async () => {
    const [row] = await rowsOf('MSH#:+\rNTE#a:b+c&d^e\\F\\', HL7V2)
    expect(without(row === undefined ? undefined : brief(row))).toEqual({
      NTE: [{ 1: [{ 1: 'a', 2: 'b' }, { 1: 'c&d^e\\F\\' }] }],
    })
  })

  test.each([
    ['no delimiters', 'MSH\rPID|1', 'MSH has no valid delimiters'],
    ['a letter for a delimiter', 'MSHa^~\rPID|1', 'MSH has no valid delimiters'],
    ['a line that is no segment', `${MSH}\rPID|1\rand SECRET`, 'line 3 of the message does not begin'],
    ['a name of a segment that goes on', `${MSH}\rPIDX|SECRET`, 'line 2 of the message does not begin'],
  ])('is one rejected row with %s, and the next is read', async (_, text, problem) => {
    const rows = await rowsOf(`${text}\r${MSH}\r`, HL7V2)
    expect(rows.map(({ kind }) => kind)).toEqual(['unreadable', 'json'])
    expect(rows[0]).toMatchObject({ fault: 'row-message-invalid', message: expect.stringContaining(problem) })
    expect(rows[0]).not.toMatchObject({ message: expect.stringContaining('SECRET') })
  })
})

describe('a file', () => {
  const one = (id: string, end: string): string => `MSH|^~\\&|${id}${end}NTE|é${end}`

  test.each([
    ['CR', '\r'],
    ['LF', '\n'],
    ['CR LF', '\r\n'],
  ])('has messages one after the other, with segments that end in %s, and their origins', async (_, end) => {
    const rows = await rowsOf(`${one('a', end)}${end}${one('b', end)}`, HL7V2)
    const length = Buffer.byteLength(one('a', end)) + end.length
    expect(rows).toMatchObject([
      { kind: 'json', row: 1, line: 1, byteOffset: 0 },
      { kind: 'json', row: 2, line: 4, byteOffset: length },
    ])
  })

  test('may have batches and MLLP around them, none of which is a row', async () => {
    const framed = `\v${one('a', '\r')}\x1c\r`
    const text = `FHS|^~\\&|x\rBHS|^~\\&|x\r${framed}${one('b', '\r')}BTS|2\rBHS|^~\\&|x\r${one('c', '\r')}BTS|1\rFTS|2\r`
    const path = await exportFile(text)
    const opened = await openExport(path, HL7V2)
    expect((await allRows(path, HL7V2)).map(({ kind }) => kind)).toEqual(['json', 'json', 'json'])
    expect(await opened.controlTotal()).toEqual({ stated: 3, found: 3 })
  })

  test('says by its batches how many there must be, if they say it', async () => {
    const total = async (text: string) => (await openExport(await exportFile(text), HL7V2)).controlTotal()
    expect(await total(`${one('a', '\r')}BTS|2\r`)).toEqual({ stated: 2, found: 1 })
    expect(await total(`${one('a', '\r')}BTS||none\r`)).toBeUndefined()
    expect(await total(one('a', '\r'))).toBeUndefined()
  })

  test.each([
    ['', 'export-empty'],
    [' \r\n\v', 'export-empty'],
    ['participant,visited\r\n', 'export-unreadable'],
    ['{"MSH":1}', 'export-unreadable'],
  ])('is refused where it is none: %j', async (text, code) => {
    await expect(rowsOf(text, HL7V2)).rejects.toMatchObject({ code })
  })

  test('is told from CSV', async () => {
    await expect(rowsOf(one('a', '\r'))).rejects.toMatchObject({
      code: 'export-unreadable',
      message: 'The export is HL7 v2, and the mapping reads CSV.',
      remedy: expect.stringContaining('format: hl7v2'),
    })
  })

  test('is compressed as others are, and its messages too long are passed over', async () => {
    const long = `MSH|^~\\&|a\rNTE|${'x'.repeat(17 * 1024 * 1024)}\rOBX|1\r`
    const rows = await rowsOf(gzipSync(`${long}${one('b', '\r')}`), HL7V2)
    expect(rows.map((row) => (row.kind === 'unreadable' ? row.fault : row.kind))).toEqual([
      'row-too-large',
      'row-message-invalid',
      'json',
    ])
  })
})

describe('the encoding', () => {
  const nte = (said: string, text: Uint8Array) =>
    Buffer.concat([Buffer.from(`MSH|^~\\&|${'|'.repeat(15)}${said}\rNTE|`), text, Buffer.from('\r')])
  const UMLAUT = { utf8: Buffer.from('Müller'), latin: Buffer.from('Müller', 'latin1') }

  test.each([
    ['nothing', '', UMLAUT.utf8],
    ['UTF-8', 'UNICODE UTF-8', UMLAUT.utf8],
    ['ISO 8859-1', '8859/1', UMLAUT.latin],
    ['the first of two', '8859/15~UNICODE', UMLAUT.latin],
  ])('is that of MSH-18: %s', async (_, said, text) => {
    const [row] = await rowsOf(nte(said, text), HL7V2)
    expect(row).toMatchObject({ value: { NTE: [{ 1: [{ 1: 'Müller' }] }] } })
  })

  test.each([
    ['nothing, and is not UTF-8', '', UMLAUT.latin, 'is not valid UTF-8'],
    ['ISO 8859-1, and is UTF-8', '8859/1', UMLAUT.utf8, 'the letters are UTF-8'],
    ['what nobody knows', 'EBCDIC', UMLAUT.latin, 'names an unknown character set'],
  ])('is not guessed where MSH-18 says %s', async (_, said, text, words) => {
    const rows = await rowsOf(Buffer.concat([nte(said, text), Buffer.from(`${MSH}\r`)]), HL7V2)
    expect(rows).toMatchObject([
      { fault: 'row-encoding-invalid', message: expect.stringContaining(words) },
      { kind: 'json' },
    ])
  })

  test('is what the mapping says, whatever the message says', async () => {
    const read = readDefinition.parse({ format: 'hl7v2', encoding: 'windows-1252' })
    const [row] = await rowsOf(nte('UNICODE UTF-8', UMLAUT.latin), read)
    expect(row).toMatchObject({ value: { NTE: [{ 1: [{ 1: 'Müller' }] }] } })
  })
})

test('any message can be the first that is read, wherever the bytes are cut', async () => {
  const segment = fc.constantFrom('PID|1', 'OBX|1|NM|a^b', 'NTE|x\\F\\y', '', ' ', 'none of them')
  const end = fc.constantFrom('\r', '\n', '\r\n')
  const message = fc
    .tuple(fc.constantFrom(MSH, '\vMSH|^~\\&|b', 'BTS|1', 'MSH'), fc.array(segment, { maxLength: 4 }), end)
    .map(([head, segments, ending]) => [head, ...segments, ''].join(ending))
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 8 }), async (messages) => {
      const path = await exportFile(`${MSH}\r${messages.join('')}`)
      const rows = await allRows(path, HL7V2)
      for (const row of rows) expect(await allRows(path, HL7V2, row)).toEqual(rows.slice(row.row - 1))
      expect(rows.filter(({ kind }) => kind === 'json').length).toBeGreaterThan(0)
    }),
    { numRuns: 25 },
  )
})

describe('rows: patients', () => {
  const PATIENTS = readDefinition.parse({ format: 'hl7v2', rows: 'patients' })
  const messages = [
    ...[MSH, 'PID|1||A', 'OBX|1', 'OBX|2', 'PID|2||B', 'OBX|3', 'NTE|n'],
    ...['MSH', MSH, 'PID|1||C', MSH, 'NTE|nobody', MSH, 'PID|1||D', 'PID|2||E', 'PID|3||F'],
  ].join('\r')

  test('are messages that have one patient each, with all else of their message', async () => {
    const rows = await rowsOf(messages, PATIENTS)
    expect(rows.map(({ row, line }) => [row, line])).toEqual(
      [1, 1, 8, 9, 11, 13, 13, 13].map((line, at) => [at + 1, line]),
    )
    const alone = (...segments: string[]) => documentOf(...segments)
    expect(rows.map(brief)).toEqual([
      await alone('PID|1||A', 'OBX|1', 'OBX|2'),
      await alone('PID|2||B', 'OBX|3', 'NTE|n'),
      'row-message-invalid',
      await alone('PID|1||C'),
      await alone('NTE|nobody'),
      ...(await Promise.all(['PID|1||D', 'PID|2||E', 'PID|3||F'].map((pid) => alone(pid)))),
    ])
    for (const row of rows) if (row.kind === 'json') expect(JSON.parse(row.text)).toEqual(row.value)
  })

  test('can be read from any of them on', async () => {
    const path = await exportFile(messages)
    const rows = await allRows(path, PATIENTS)
    for (const row of rows) expect(await allRows(path, PATIENTS, row)).toEqual(rows.slice(row.row - 1))
  })
})

describe('messages of others', NEEDS_CORPUS, () => {
  const files = globSync('hl7v2/**/*.hl7', { cwd: CORPUS ?? '.' })
  test('there are some', () => expect(files.length).toBeGreaterThan(10))

  test.each(files)('%s: every segment is in its document, with the texts of its fields', async (file) => {
    const path = join(CORPUS ?? '.', file)
    const text = readFileSync(path, 'utf8')
    const rows = await allRows(path, HL7V2).catch((error: { code: string }) => error.code)
    // Some files are answers of a tool under the name of a message.
    if (!/^\W*(?:MSH|FHS|BHS)\|/.test(text)) return expect(rows).toBe('export-unreadable')
    const found = (Array.isArray(rows) ? rows : []).flatMap((row) => (row.kind === 'json' ? [row.value] : []))
    const observations: unknown[] = []
    const walk = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      for (const [key, member] of Object.entries(value)) {
        if (key === 'OBX') observations.push(Object(member)['3']?.[0]?.['1'] ?? '')
        walk(member)
      }
    }
    walk(found)
    const written = text.split(/[\r\n]+/).flatMap((line) => {
      const [name, , , third = ''] = line.split('|')
      const [whole = ''] = third.split(/[\^~]/)
      const parts = whole.split('&').map((part, at) => [String(at + 1), part] as const)
      return name === 'OBX' ? [parts.length === 1 ? whole : Object.fromEntries(parts)] : []
    })
    expect(observations).toEqual(written)
  })
})
