/**
 * Unpacks PGP messages and zip archives, one in the other, detected by their first bytes. gzip and Zstandard are streamed (content.ts). Workbooks
 * stay as they are, though they are zip archives.
 */
import { exportError, readHead, unreadable } from '../content.ts'
import { isOfficeDocument } from '../xlsx-package.ts'
import { isPgpMessage, type UnpackedExport, type UnpackRules } from './unpack-rules.ts'
import { namesInZip, unpackZip } from './zip.ts'

/** Nobody delivers more layers in good faith. */
const MOST_LAYERS = 4
const HEAD_BYTES = 64
/** First bytes of a local header, and of an empty archive (APPNOTE 4.3.7, 4.3.16). */
const ZIP = ['PK\x03\x04', 'PK\x05\x06']

/**
 * @param address of the delivered file, for errors
 * @param rules with limits for the whole delivery (`countWhole`), as layers would multiply
 * @param newFile path for a new file of that name
 * @throws WaybillError `export-unreadable` (damaged, no key), `export-untrusted`, `export-too-large`
 */
export async function unpack(
  address: string,
  file: string,
  rules: UnpackRules,
  newFile: (name: string) => Promise<string>,
): Promise<UnpackedExport[]> {
  const layer = async (one: UnpackedExport, depth: number, decrypted: boolean): Promise<UnpackedExport[]> => {
    const { head } = await readHead(one.file, HEAD_BYTES).catch((cause) => {
      throw unreadable(address, cause)
    })
    const packing = await packingOf(address, one.file, head)
    if (packing !== undefined && depth === MOST_LAYERS)
      throw unreadable(address, new Error(`it is packed more than ${MOST_LAYERS} times`))
    if (packing === 'pgp') {
      const target = await newFile(one.member ?? nameOf(address))
      const { decryptPgp, hasMoreBehind } = await import('./pgp.ts')
      if (rules.isWhole !== true && (await hasMoreBehind(one.file)))
        throw exportError(
          address,
          'The export has content after its first PGP message. Nothing of it was sent.',
          { code: 'export-cut' },
        )
      await decryptPgp(address, one.file, target, rules.pgp, rules.limits)
      return layer({ ...one, file: target }, depth + 1, true)
    }
    if (rules.encrypted && !decrypted && packing === undefined)
      throw exportError(address, 'The export is not encrypted with PGP, but the job requires it.', {
        code: 'export-untrusted',
      })
    if (packing === undefined) return [one]
    if (one.member !== undefined) throw unreadable(address, new Error('an archive in an archive is not read'))
    const members = await unpackZip(address, one.file, rules, newFile)
    // Sequential: after a failure, nothing else is still writing.
    const exports: UnpackedExport[] = []
    for (const member of members) exports.push(...(await layer(member, depth + 1, decrypted)))
    return exports
  }
  return layer({ file }, 0, false)
}

async function packingOf(address: string, file: string, head: Buffer): Promise<'pgp' | 'zip' | undefined> {
  if (isPgpMessage(head)) return 'pgp'
  if (!ZIP.includes(head.toString('latin1', 0, 4))) return undefined
  return isOfficeDocument(await namesInZip(address, file)) ? undefined : 'zip'
}

const nameOf = (address: string): string => address.split('/').at(-1) ?? address
