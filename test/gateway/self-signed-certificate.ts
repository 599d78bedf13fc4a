import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** Tags of X.690 (DER). */
const INTEGER = 0x02
const BIT_STRING = 0x03
const OBJECT_ID = 0x06
const UTF8_STRING = 0x0c
const GENERALIZED_TIME = 0x18
const SEQUENCE = 0x30
const SET = 0x31
const OCTET_STRING = 0x04
const VERSION = 0xa0
const EXTENSIONS = 0xa3
const IP_ADDRESS = 0x87

const COMMON_NAME = Buffer.from('550403', 'hex')
const SUBJECT_ALTERNATIVE_NAME = Buffer.from('551d11', 'hex')
const ECDSA_WITH_SHA256 = Buffer.from('2a8648ce3d040302', 'hex')

function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const length =
    content.length < 128 ? [content.length] : [0x82, Math.floor(content.length / 256), content.length % 256]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

/**
 * A certificate (RFC 5280) for an IPv4 address, signed with its own key, made anew at each call.
 * @param until end of its validity, like `21200101000000Z`
 */
export function selfSignedCertificate(
  address: readonly number[] = [127, 0, 0, 1],
  until = '21200101000000Z',
): {
  readonly cert: string
  readonly key: string
} {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(SEQUENCE, der(OBJECT_ID, ECDSA_WITH_SHA256))
  const name = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, der(OBJECT_ID, COMMON_NAME), der(UTF8_STRING, Buffer.from('localhost')))),
  )
  const validity = der(
    SEQUENCE,
    der(GENERALIZED_TIME, Buffer.from('20200101000000Z')),
    der(GENERALIZED_TIME, Buffer.from(until)),
  )
  const names = der(SEQUENCE, der(IP_ADDRESS, Buffer.from(address)))
  const extension = der(SEQUENCE, der(OBJECT_ID, SUBJECT_ALTERNATIVE_NAME), der(OCTET_STRING, names))
  const content = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.from([1])),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(EXTENSIONS, der(SEQUENCE, extension)),
  )
  return {
    cert: pem(signed(content, algorithm, privateKey)),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function signed(content: Buffer, algorithm: Buffer, key: KeyObject): Buffer {
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', content, key)])
  return der(SEQUENCE, content, algorithm, der(BIT_STRING, signature))
}

function pem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
