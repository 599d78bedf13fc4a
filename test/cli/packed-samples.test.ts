/** Samples that are packed or encrypted: the commands for mappings read of them what a run reads. */
import { createWriteStream } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { gzipSync } from 'node:zlib'
import { createMessage, encrypt, generateKey, readKey } from 'openpgp'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ZipFile } from 'yazl'
import { ANN, BEN, type Clinic, HEADER, openClinic } from './clinic.ts'
import { type Ended, summaryOf } from './command-line.ts'

const ROWS = `${HEADER}${ANN}${BEN}`

async function zipped(file: string, members: Readonly<Record<string, string | Buffer>>, stream = false) {
  const archive = new ZipFile()
  for (const [name, content] of Object.entries(members))
    if (stream) archive.addReadStream(Readable.from([Buffer.from(content)]), name, { forceZip64Format: true })
    else archive.addBuffer(Buffer.from(content), name)
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(file))
  return file
}

/** Folders of samples that were not removed. */
const leftThere = async (): Promise<string[]> =>
  (await readdir(tmpdir())).filter((name) => name.startsWith('waybill-looks-'))

/** The draft without the name of the file. */
const draft = async (clinic: Clinic, sample: string, ...more: string[]): Promise<string> => {
  const file = join(clinic.workplace.folder, `${sample.replaceAll(/\W/g, '-')}.yaml`)
  const made = await clinic.workplace.waybill(
    'mapping',
    'init',
    sample,
    '--out',
    file,
    '--name',
    'a',
    ...more,
  )
  expect(made, made.err).toMatchObject({ code: 0, err: '' })
  return (await readFile(file, 'utf8'))
    .split('\n')
    .slice(1)
    .join('\n')
    .replaceAll(/\S*a\.csv\S*/g, 'FILE')
}

/** What check, preview, diff say of a sample, without its name. */
async function said({ workplace }: Clinic, sample: string, ...more: string[]): Promise<unknown[]> {
  const commands = [
    ['mapping', 'check', 'clinic', '--json', '--export', sample],
    ['mapping', 'preview', 'clinic', sample, '--json', '--limit', '9'],
    ['mapping', 'diff', 'clinic', 'clinic', sample, '--json'],
  ]
  const all: Ended[] = []
  for (const command of commands) all.push(await workplace.waybill(...command, ...more))
  // Ids begin with the hash of the bytes, and without a key of the installation each command ends them by chance.
  const steady = (out: string): string =>
    out.replace(/"export":"[^"]*"/, '').replaceAll(/"[0-9a-f]{16}(-\d{6}-[a-z0-9-]+)-[0-9a-f]{8}"/g, '"$1"')
  return all.map(({ code, out, err }) => [code, steady(out), err])
}

test('zip, zip64 written as a stream, gzip in zip and zip in PGP: one and the same sample', async () => {
  const { privateKey, publicKey } = await generateKey({ userIDs: [{ name: 'clinic' }], format: 'armored' })
  const clinic = await openClinic({ environment: { WAYBILL_PGP_KEY_FILE: 'key.asc' } })
  await writeFile(join(clinic.workplace.folder, 'key.asc'), privateKey, { mode: 0o600 })
  const plain = await clinic.deliver('a.csv', ROWS)
  const zip = await zipped(join(clinic.workplace.folder, 'a.csv.zip'), { 'a.csv': ROWS })
  const stream = await zipped(join(clinic.workplace.folder, 'stream-a.csv.zip'), { 'out/a.csv': ROWS }, true)
  const inside = await zipped(join(clinic.workplace.folder, 'gz-a.csv.zip'), { 'a.csv': gzipSync(ROWS) })
  const message = await createMessage({ binary: await readFile(zip) })
  const encryptionKeys = await readKey({ armoredKey: publicKey })
  const pgp = await clinic.deliver(
    'a.csv.zip.pgp',
    Buffer.from((await encrypt({ message, encryptionKeys, format: 'binary' })) as Uint8Array),
  )
  vi.stubEnv('TMPDIR', join(clinic.workplace.folder, 'inbox'))
  onTestFinished(() => void vi.unstubAllEnvs())
  const [check, preview, diff] = await said(clinic, plain)
  expect(preview).toMatchObject([0, expect.stringContaining('"outcome":"mapped"'), ''])
  expect([check, diff]).toEqual([
    [0, expect.stringContaining('"mapped":2'), ''],
    [0, expect.stringContaining('"different":0'), ''],
  ])
  const drafted = await draft(clinic, plain)
  for (const packed of [zip, stream, pgp, inside]) {
    expect(await said(clinic, packed)).toEqual([check, preview, diff])
    expect(await draft(clinic, packed)).toBe(drafted)
  }
  expect(await leftThere()).toEqual([])
})

test('the records of a preview have the transaction ids of the run', async () => {
  const clinic = await openClinic({
    job: 'exports: { from: ../inbox, match: "*.zip", mapping: clinic }\naccounts: { register: never }\n',
  })
  const zip = await zipped(join(clinic.workplace.folder, 'inbox', 'a.zip'), { 'a.csv': ROWS })
  expect(summaryOf(await clinic.run()).exports).toMatchObject([{ rows: 2 }])
  const { out } = await clinic.workplace.waybill('mapping', 'preview', 'clinic', zip, '--json')
  const ids = [...out.matchAll(/"transactionId":"([^"]+)"/g)].map(([, id]) => id)
  const sent = (await clinic.store.records('biometric')).map((record) => record['transactionId'])
  expect(ids).toHaveLength(6)
  expect(ids.toSorted()).toEqual(sent.toSorted())
})

test('of several files in an archive one must be named; nothing is guessed', async () => {
  const clinic = await openClinic()
  const zip = await zipped(join(clinic.workplace.folder, 'two.zip'), {
    'out/a.csv': ROWS,
    '.DS_Store': 'x',
    '__MACOSX/._a.csv': 'x',
  })
  const { code, err } = await clinic.workplace.waybill('mapping', 'preview', 'clinic', zip)
  expect([code, err]).toEqual([2, expect.stringContaining('the archive holds 2 files (.DS_Store, a.csv)')])
  const plain = await clinic.deliver('a.csv', ROWS)
  expect(await said(clinic, zip, '--members', 'a.csv')).toEqual(await said(clinic, plain))
  const init = await clinic.workplace.waybill(
    ...['mapping', 'init', zip, '--out', join(clinic.workplace.folder, 'b.yaml'), '--members', '*.csv'],
  )
  expect(init.out).toContain("two.zip --members '*.csv'")
  const none = await clinic.workplace.waybill(
    'mapping',
    'check',
    'clinic',
    '--export',
    zip,
    '--members',
    'b*',
  )
  expect([none.code, none.err]).toEqual([2, expect.stringContaining('matches b*')])
})

test('errors name the file that was given, not the one that was unpacked', async () => {
  const clinic = await openClinic()
  const zip = await zipped(join(clinic.workplace.folder, 'a.zip'), { 'a.csv': 'id,id\nann,1\n' })
  const { code, err } = await clinic.workplace.waybill('mapping', 'preview', 'clinic', zip)
  expect(code).toBe(2)
  expect(err).toContain(`${zip}!a.csv`)
  expect(err).not.toContain('waybill-looks-')
})

test('a message without its key is refused as in a run', async () => {
  const { publicKey } = await generateKey({ userIDs: [{ name: 'clinic' }], format: 'armored' })
  const clinic = await openClinic()
  const message = await createMessage({ text: ROWS })
  const encryptionKeys = await readKey({ armoredKey: publicKey })
  const pgp = await clinic.deliver('a.pgp', (await encrypt({ message, encryptionKeys })) as string)
  for (const command of [
    ['init', pgp],
    ['check', 'clinic', '--export', pgp],
    ['preview', 'clinic', pgp],
  ]) {
    const { code, err } = await clinic.workplace.waybill('mapping', ...command)
    expect([code, err]).toEqual([2, expect.stringContaining('encrypted with PGP, but no key is set')])
  }
})
