/**
 * Takes exports out of what they were delivered in: PGP messages and zip archives, one in the other, known by their first bytes.
 * gzip and Zstandard stay as they are: those are read as a stream (content.ts). So do workbooks, which are zip archives, too.
 */
import { WaybillError } from '../../model/errors.ts'
import { openVersion, unreadable } from '../content.ts'
import { isOfficeDocument } from '../xlsx-package.ts'
import { isPgpMessage, type UnpackedExport, type UnpackRules } from './unpack-rules.ts'

/** Archives in archives, messages in messages: nobody delivers more layers in good faith. */
const MOST_LAYERS = 4
const HEAD_BYTES = 64
/** Of a local header, and of an archive without members (APPNOTE 4.3.7, 4.3.16). */
const ZIP = ['PK\x03\x04', 'PK\x05\x06']

/**
 * @param address of the delivered file, for errors
 * @param file where it is
 * @param rules with limits for the whole delivery (`countWhole`), as layers would multiply
 * @param newFile gives a path for a new file of that name
 * @throws WaybillError `export-unreadable` (damaged, no key), `export-untrusted`, `export-too-large`
 */
export async function unpack(
  address: string,
  file: string,
  rules: UnpackRules,
  newFile: (name: string) => Promise<string>,
): Promise<UnpackedExport[]> {
  const layer = async (one: UnpackedExport, depth: number, decrypted: boolean): Promise<UnpackedExport[]> => {
    const head = await headOf(address, one.file)
    const packing = await packingOf(address, one.file, head)
    if (packing !== undefined && depth === MOST_LAYERS)
      throw unreadable(address, new Error(`it is packed more than ${MOST_LAYERS} times`))
    if (packing === 'pgp') {
      const target = await newFile(one.member ?? nameOf(address))
      const { decryptPgp, hasMoreBehind } = await import('./pgp.ts')
      if (rules.isWhole !== true && (await hasMoreBehind(one.file)))
        throw new WaybillError(
          'export-cut',
          'Behind the first PGP message of the export stands more, which is not read. Nothing of it was sent.',
          { place: { file: address } },
        )
      await decryptPgp(address, one.file, target, rules.pgp, rules.limits)
      return layer({ ...one, file: target }, depth + 1, true)
    }
    if (rules.encrypted && !decrypted && packing === undefined)
      throw new WaybillError(
        'export-untrusted',
        'The export is not encrypted with PGP, as the job wants it.',
        {
          place: { file: address },
        },
      )
    if (packing === undefined) return [one]
    if (one.member !== undefined) throw unreadable(address, new Error('an archive in an archive is not read'))
    const { unpackZip } = await import('./zip.ts')
    const members = await unpackZip(address, one.file, rules, newFile)
    // One after the other: where one fails, nobody goes on writing what is then removed.
    const exports: UnpackedExport[] = []
    for (const member of members) exports.push(...(await layer(member, depth + 1, decrypted)))
    return exports
  }
  return layer({ file }, 0, false)
}

/** A workbook is read as it is, though it is a zip archive. */
async function packingOf(address: string, file: string, head: Buffer): Promise<'pgp' | 'zip' | undefined> {
  if (isPgpMessage(head)) return 'pgp'
  if (!ZIP.includes(head.toString('latin1', 0, 4))) return undefined
  const { namesInZip } = await import('./zip.ts')
  return isOfficeDocument(await namesInZip(address, file)) ? undefined : 'zip'
}

const nameOf = (address: string): string => address.split('/').at(-1) ?? address

async function headOf(address: string, file: string): Promise<Buffer> {
  try {
    const { handle } = await openVersion(file)
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
      return buffer.subarray(0, bytesRead)
    } finally {
      await handle.close()
    }
  } catch (cause) {
    throw unreadable(address, cause)
  }
}
