import { createWriteStream } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip, createZstdCompress, gzipSync, zstdCompressSync } from 'node:zlib'
import * as openpgp from 'openpgp'
import { beforeAll, describe, expect, it } from 'vitest'
import { ZipFile } from 'yazl'
import type { PgpKeyFiles } from '../../../src/extract/arrival/pgp.ts'
import { unpack } from '../../../src/extract/arrival/unpack.ts'
import { type ContentLimits, DEFAULT_LIMITS } from '../../../src/extract/content.ts'
import { openExport } from '../../../src/extract/open-export.ts'
import { createSpool } from '../../../src/extract/sources/receive-file.ts'
import { WaybillError } from '../../../src/model/errors.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { allRows, brief, CSV, collect, exportFile } from '../export-file.ts'

const TABLE = 'id,a1c\nann,5.1\nben,5.2\n'
type UnpackRules = Parameters<typeof unpack>[2]
const RULES: UnpackRules = { limits: DEFAULT_LIMITS, encrypted: false, pgp: {} }

interface Member {
  readonly name: string
  readonly content: Uint8Array | Readable
}

async function zip(...members: readonly Member[]): Promise<string> {
  const file = join(await temporaryFolder(), 'export.zip')
  const archive = new ZipFile()
  for (const { name, content } of members) {
    if (content instanceof Readable) archive.addReadStream(content, name)
    else archive.addBuffer(Buffer.from(content), name)
  }
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(file))
  return file
}

const member = (name: string, content: string | Uint8Array = TABLE): Member => ({
  name,
  content: Buffer.from(content),
})

/** Unpacks with rules; gives each export's member and text. */
async function unpacked(
  file: string,
  rules: Partial<UnpackRules> = {},
): Promise<[string | undefined, string][]> {
  const spool = createSpool(join(dirname(file), 'spool'))
  const found = await unpack(file, file, { ...RULES, ...rules }, spool.unpack)
  return Promise.all(found.map(async (one) => [one.member, await readFile(one.file, 'utf8')] as const)).then(
    (all) => all.map(([name, text]) => [name, text]),
  )
}

const zeros = (bytes: number): Readable =>
  Readable.from(
    (function* () {
      const block = Buffer.alloc(1024 ** 2)
      for (let left = bytes; left > 0; left -= block.length) yield block
    })(),
  )

/** Just beyond what is harmless, whatever the ratio. */
const BOMB_BYTES = 65 * 1024 ** 2

describe('zip', () => {
  it('with one file is that file, as it is on the disk for its owner alone', async () => {
    const file = await zip(member('folder/a.csv'))
    expect(await unpacked(file)).toEqual([['folder/a.csv', TABLE]])
    const [one] = await unpack(file, file, RULES, createSpool(join(dirname(file), 'again')).unpack)
    expect((await stat(one?.file ?? '')).mode & 0o777).toBe(0o600)
    expect((await stat(dirname(one?.file ?? ''))).mode & 0o777).toBe(0o700)
  })

  it('with several gives those that the job names, oldest first', async () => {
    const file = await zip(
      member('a_20260302.csv', 'later'),
      member('x/a_20260301.csv', 'earlier'),
      member('readme.txt'),
      member('__MACOSX/a_20260303.csv'),
    )
    expect(await unpacked(file, { members: 'a_{date:yyyyMMdd}.csv' })).toEqual([
      ['x/a_20260301.csv', 'earlier'],
      ['a_20260302.csv', 'later'],
    ])
    await expect(unpacked(file)).rejects.toMatchObject({
      code: 'export-unreadable',
      message: /holds 3 files/,
    })
    await expect(unpacked(file, { members: '*.ndjson' })).rejects.toMatchObject({ code: 'export-unreadable' })
  })

  it('with several of one name gives each by its place among them', async () => {
    const file = await zip(
      member('a.csv', 'first'),
      member('a.csv#2', 'so named'),
      member('a.csv', 'second'),
      member('a.csv', 'second'),
    )
    // No two of them are called alike, whatever a member is called in truth.
    expect(await unpacked(file, { members: 'a.csv*' })).toEqual([
      ['a.csv', 'first'],
      ['a.csv#2', 'second'],
      ['a.csv#3', 'second'],
      ['a.csv#2#2', 'so named'],
    ])
    expect(await unpacked(file, { members: '*.csv' })).toEqual([
      ['a.csv', 'first'],
      ['a.csv#2', 'second'],
      ['a.csv#3', 'second'],
    ])
  })

  it('may hold gzip, which is read as a stream', async () => {
    const file = await zip({ name: 'a.csv.gz', content: gzipSync(TABLE) })
    const [one] = await unpack(file, file, RULES, createSpool(join(dirname(file), 'spool')).unpack)
    expect((await allRows(one?.file ?? '')).map(brief)).toEqual([
      ['ann', '5.1'],
      ['ben', '5.2'],
    ])
  })

  it('that is cut off, damaged, empty or holds an archive is unreadable', async () => {
    const good = await readFile(await zip(member('a.csv', TABLE.repeat(1000))))
    const damaged = Buffer.from(good)
    damaged.fill(0x55, 60, 70)
    const wrongCrc = Buffer.from(good)
    // CRC-32 in the central directory (APPNOTE 4.3.12), which stands behind its signature and 12 bytes.
    wrongCrc.writeUInt32LE(1, wrongCrc.indexOf('PK\x01\x02') + 16)
    const nested = await readFile(await zip({ name: 'inner.zip', content: good }))
    const empty = await readFile(await zip())
    for (const content of [good.subarray(0, -30), good.subarray(0, 100), damaged, wrongCrc, nested, empty]) {
      await expect(unpacked(await exportFile(content))).rejects.toMatchObject({ code: 'export-unreadable' })
    }
  })

  it('that is encrypted is refused with a word on PGP', async () => {
    const file = await zip(member('a.csv'))
    const content = await readFile(file)
    // General purpose bit 0 (APPNOTE 4.4.4), in both headers.
    for (const [signature, at] of [
      ['PK\x03\x04', 6],
      ['PK\x01\x02', 8],
    ] as const)
      content.writeUInt8(1, content.indexOf(signature) + at)
    await writeFile(file, content)
    await expect(unpacked(file)).rejects.toMatchObject({
      code: 'export-unreadable',
      message: /encrypted.*PGP/,
    })
  })

  it.each(['../../evil.csv', '/evil.csv', 'a\\..\\evil.csv'])('with the name %s is refused', async (name) => {
    const plain = 'a'.repeat(name.length)
    const content = await readFile(await zip(member(plain)))
    const evil = Buffer.from(content.toString('latin1').replaceAll(plain, name), 'latin1')
    await expect(unpacked(await exportFile(evil))).rejects.toMatchObject({ code: 'export-unreadable' })
  })
})

describe('decompression bombs', () => {
  it('in a zip archive are refused while they inflate', async () => {
    const file = await zip({ name: 'a.csv', content: zeros(BOMB_BYTES) })
    expect((await stat(file)).size).toBeLessThan(200_000)
    await expect(unpacked(file)).rejects.toMatchObject({
      code: 'export-too-large',
      message: /more than 200 times/,
    })
  })

  it.each([
    ['gzip', createGzip],
    ['zstd', createZstdCompress],
  ] as const)('in %s are refused while they inflate', async (_, compress) => {
    const file = join(await temporaryFolder(), 'export.csv')
    await pipeline(
      Readable.from(
        (async function* () {
          yield TABLE
          yield* zeros(BOMB_BYTES)
        })(),
      ),
      compress(),
      createWriteStream(file),
    )
    await expect((async () => collect((await openExport(file, CSV)).rows()))()).rejects.toMatchObject({
      code: 'export-too-large',
    })
  })

  it('are judged by bytes, too, over all members', async () => {
    const limits: ContentLimits = { bytes: 2 * TABLE.length, ratio: 1000 }
    const two = [member('a.csv'), member('b.csv')]
    expect(await unpacked(await zip(...two), { members: '*', limits })).toHaveLength(2)
    await expect(
      unpacked(await zip(...two, member('c.csv', 'x')), { members: '*', limits }),
    ).rejects.toMatchObject({ code: 'export-too-large' })
  })

  it('are not what a small file of repeated rows is', async () => {
    const rows = await allRows(await exportFile(gzipSync(`a\n${'1\n'.repeat(100_000)}`)))
    expect(rows).toHaveLength(100_000)
  })
})

describe('Zstandard', () => {
  it('is known by its bytes, read from any offset, and cut off is an error', async () => {
    const packed = zstdCompressSync(TABLE.repeat(10_000))
    const path = await exportFile(packed, 'a.csv.gz')
    const rows = await allRows(path)
    expect(rows).toHaveLength(29_999)
    const origin = rows[20_000]
    if (origin === undefined) throw new Error('the row is there')
    expect(await allRows(path, CSV, origin)).toEqual(rows.slice(20_000))
    await expect(allRows(await exportFile(packed.subarray(0, -20)))).rejects.toMatchObject({
      code: 'export-unreadable',
    })
  })
})

describe('PGP', () => {
  const PASSPHRASE = 'words of the tests'
  const keyPair = async (name: string) =>
    openpgp.generateKey({
      userIDs: [{ name }],
      passphrase: PASSPHRASE,
      format: 'armored',
      // The passphrase is hashed for each message: as seldom as RFC 9580 (3.7.1.3) allows, which is 1,024 bytes of it.
      config: { s2kIterationCountByte: 0 },
    })
  let ours: Awaited<ReturnType<typeof keyPair>>
  let vendor: Awaited<ReturnType<typeof keyPair>>
  beforeAll(async () => {
    ours = await keyPair('reader')
    vendor = await keyPair('vendor')
  })

  interface Encryption {
    readonly for?: string
    readonly signedBy?: string | readonly string[]
    readonly armored?: boolean
    readonly compressed?: boolean
  }
  const encrypt = async (content: Uint8Array, how: Encryption = {}): Promise<string> => {
    const message = await openpgp.createMessage({ binary: content })
    const encryptionKeys = await openpgp.readKey({ armoredKey: how.for ?? ours.publicKey })
    const signingKeys = await Promise.all(
      [how.signedBy ?? []].flat().map(async (armoredKey) => {
        const privateKey = await openpgp.readPrivateKey({ armoredKey })
        return openpgp.decryptKey({ privateKey, passphrase: PASSPHRASE })
      }),
    )
    const zlib = openpgp.enums.compression.zlib
    const config = how.compressed ? { preferredCompressionAlgorithm: zlib } : {}
    const options = { message, encryptionKeys, signingKeys, config }
    return exportFile(
      how.armored
        ? await openpgp.encrypt({ ...options, format: 'armored' })
        : await openpgp.encrypt({ ...options, format: 'binary' }),
      'export.csv.pgp',
    )
  }
  const keys = async (verify?: string): Promise<PgpKeyFiles> => {
    const folder = await temporaryFolder()
    const at = async (name: string, text: string): Promise<string> => {
      await writeFile(join(folder, name), text)
      return join(folder, name)
    }
    return {
      keyFile: await at('key.asc', ours.privateKey),
      passphraseFile: await at('passphrase', `${PASSPHRASE}\n`),
      ...(verify === undefined ? {} : { verifyKeyFile: await at('verify.asc', verify) }),
    }
  }
  const content = Buffer.from(TABLE.repeat(20_000))

  it.each<[string, Encryption]>([
    ['binary', {}],
    ['armored', { armored: true }],
    ['compressed', { compressed: true }],
  ])('%s is known by its bytes and decrypted', async (_, how) => {
    const file = await encrypt(content, how)
    const [one] = await unpacked(file, { pgp: await keys(), encrypted: true })
    expect(one?.[1] === content.toString()).toBe(true)
  })

  it('may hold an archive, and an archive may hold it', async () => {
    const pgp = await keys()
    const outer = await encrypt(await readFile(await zip(member('a.csv'))))
    expect(await unpacked(outer, { pgp, encrypted: true })).toEqual([['a.csv', TABLE]])
    const inner = await zip({ name: 'a.csv.pgp', content: await readFile(await encrypt(Buffer.from(TABLE))) })
    expect(await unpacked(inner, { pgp, encrypted: true })).toEqual([['a.csv.pgp', TABLE]])
  })

  it('is unpacked four times over, and not five times', async () => {
    const pgp = await keys()
    let file = await exportFile(TABLE)
    for (let layer = 0; layer < 4; layer++) file = await encrypt(await readFile(file))
    expect((await unpacked(file, { pgp }))[0]?.[1]).toBe(TABLE)
    const deeper = await encrypt(await readFile(file))
    await expect(unpacked(deeper, { pgp })).rejects.toMatchObject({ message: /packed more than 4 times/ })
  })

  it('signed by the vendor passes, by another, or by nobody, it does not', async () => {
    const pgp = await keys(vendor.publicKey)
    const file = await encrypt(content, { signedBy: vendor.privateKey })
    expect((await unpacked(file, { pgp }))[0]?.[1].length).toBe(content.length)
    for (const how of [{ signedBy: ours.privateKey }, {}])
      await expect(unpacked(await encrypt(content, how), { pgp })).rejects.toMatchObject({
        code: 'export-untrusted',
      })
  })

  it('signed by several passes where the vendor is one of them', async () => {
    const pgp = await keys(vendor.publicKey)
    for (const signedBy of [
      [ours.privateKey, vendor.privateKey],
      [vendor.privateKey, ours.privateKey],
    ])
      expect((await unpacked(await encrypt(Buffer.from(TABLE), { signedBy }), { pgp }))[0]?.[1]).toBe(TABLE)
  })

  it('that was changed or cut off is refused, wherever', async () => {
    const good = await readFile(await encrypt(content, { signedBy: vendor.privateKey }))
    for (const share of [0.3, 0.6, 0.999]) {
      const changed = Buffer.from(good)
      const at = Math.floor(good.length * share)
      changed[at] = (changed[at] ?? 0) ^ 1
      const pgp = await keys()
      await expect(unpacked(await exportFile(changed), { pgp })).rejects.toMatchObject({
        code: expect.stringMatching(/^export-(untrusted|unreadable)$/),
      })
      await expect(unpacked(await exportFile(good.subarray(0, at)), { pgp })).rejects.toMatchObject({
        code: expect.stringMatching(/^export-(untrusted|unreadable)$/),
      })
    }
  })

  it.each([false, true])(
    'with more behind it may be cut: nothing of it is taken (armored: %s)',
    async (armored) => {
      const pgp = await keys()
      const [first, second] = await Promise.all(
        ['id,a1c\nann,5.1\n', TABLE].map(async (text) =>
          readFile(await encrypt(Buffer.from(text), { armored })),
        ),
      )
      const both = await exportFile(Buffer.concat([first ?? Buffer.of(), second ?? Buffer.of()]))
      await expect(unpacked(both, { pgp })).rejects.toMatchObject({ code: 'export-cut' })
      const ended = await exportFile(
        Buffer.concat([first ?? Buffer.of(), Buffer.from(armored ? '\n\n' : '')]),
      )
      expect((await unpacked(ended, { pgp }))[0]?.[1]).toBe('id,a1c\nann,5.1\n')
    },
  )

  it('in parts of a stream ends with the last of them', async () => {
    const pgp = await keys()
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let part = 0; part < 40; part++) controller.enqueue(Buffer.alloc(40_000, 'id,a1c\n'))
        controller.close()
      },
    })
    const encrypted = await openpgp.encrypt({
      message: await openpgp.createMessage({ binary: stream }),
      encryptionKeys: await openpgp.readKey({ armoredKey: ours.publicKey }),
      format: 'binary',
    })
    const bytes = Buffer.concat(await Array.fromAsync(encrypted as unknown as AsyncIterable<Uint8Array>))
    expect((await unpacked(await exportFile(bytes), { pgp }))[0]?.[1].length).toBe(1_600_000)
    const more = await exportFile(Buffer.concat([bytes, bytes]))
    await expect(unpacked(more, { pgp })).rejects.toMatchObject({ code: 'export-cut' })
  })

  it('for another key, or without any, is unreadable', async () => {
    const other = await encrypt(content, { for: vendor.publicKey })
    await expect(unpacked(other, { pgp: await keys() })).rejects.toMatchObject({ code: 'export-unreadable' })
    await expect(unpacked(other)).rejects.toMatchObject({
      code: 'export-unreadable',
      remedy: expect.stringContaining('WAYBILL_PGP_KEY_FILE'),
    })
  })

  it('with a wrong passphrase or a file that is no key is a matter of settings', async () => {
    const file = await encrypt(content)
    const good = await keys()
    for (const pgp of [
      { ...good, passphraseFile: await exportFile('wrong') },
      { keyFile: await exportFile('no key') },
      { ...good, verifyKeyFile: await exportFile('no key') },
      { keyFile: '/nowhere/key' },
    ])
      await expect(unpacked(file, { pgp })).rejects.toMatchObject({ code: 'settings-invalid' })
  })

  it('ends between one piece and the next when nobody wants it any more, as an archive does', async () => {
    const end = new WaybillError('gave-way', 'somebody else goes first')
    const files = [
      await encrypt(content),
      await encrypt(content, { armored: true }),
      await zip(member('a.csv', content)),
    ]
    for (const file of files) {
      const stopping = new AbortController()
      const spool = createSpool(join(await temporaryFolder(), 'spool'))
      const newFile = (name: string): Promise<string> => {
        stopping.abort(end)
        return spool.unpack(name)
      }
      const limits = { ...DEFAULT_LIMITS, signal: stopping.signal }
      await expect(unpack(file, file, { ...RULES, limits, pgp: await keys() }, newFile)).rejects.toBe(end)
    }
  })

  it('is decrypted by nobody any more when it is told that another file of the archive is not as it should be', async () => {
    const file = await zip(
      { name: 'a.csv', content: await readFile(await encrypt(content)) },
      member('b.csv', TABLE),
    )
    const spool = createSpool(join(dirname(file), 'spool'))
    const files: string[] = []
    const newFile = async (name: string): Promise<string> => {
      const path = await spool.unpack(name)
      files.push(path)
      return path
    }
    const rules = { ...RULES, members: '*.csv', pgp: await keys(), encrypted: true }
    await expect(unpack(file, file, rules, newFile)).rejects.toMatchObject({ code: 'export-untrusted' })
    // Two came out of the archive, one out of its message: whole, so nobody is at work on it still.
    expect(files).toHaveLength(3)
    expect(await readFile(files[2] ?? '')).toEqual(content)
  })

  it('is what a job may demand', async () => {
    for (const file of [
      await exportFile(TABLE),
      await exportFile(gzipSync(TABLE)),
      await zip(member('a.csv')),
    ])
      await expect(unpacked(file, { encrypted: true })).rejects.toMatchObject({ code: 'export-untrusted' })
  })

  it('that inflates beyond the limits is refused', async () => {
    const file = await encrypt(Buffer.alloc(BOMB_BYTES), { compressed: true })
    expect((await stat(file)).size).toBeLessThan(200_000)
    await expect(unpacked(file, { pgp: await keys() })).rejects.toMatchObject({ code: 'export-too-large' })
  })

  it.each(['Äpfel,Größe\n', '„a“,b\n', '…\n', 'Ãa\n'])('is not what text is: %j', async (text) => {
    for (const encoding of ['utf8', 'latin1', 'utf16le'] as const)
      expect(await unpacked(await exportFile(Buffer.from(text, encoding)))).toHaveLength(1)
  })
})

describe('the spool', () => {
  it('takes no path from a name', async () => {
    const folder = await temporaryFolder()
    const spool = createSpool(folder)
    for (const name of ['..', '../../evil', 'a\0b', 'x'.repeat(400)]) {
      const path = await spool.unpack(name)
      expect(dirname(dirname(path))).toBe(join(folder, 'unpacked'))
      await writeFile(path, 'x')
      expect(Buffer.byteLength(basename(path))).toBeLessThanOrEqual(200)
    }
    await spool.clearUnpacked()
    await expect(stat(join(folder, 'unpacked'))).rejects.toThrow('ENOENT')
  })
})
