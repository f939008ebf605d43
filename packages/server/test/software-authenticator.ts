import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04
const HAS_CREDENTIAL = 0x40

interface Options {
  challenge: string
  rp?: { id: string }
  rpId?: string
}

/** An authenticator of WebAuthn level 3 in software: one passkey with ES256 and no attestation. */
export function softwareAuthenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const credentialId = randomBytes(32)
  const id = credentialId.toString('base64url')
  let counter = 0

  function clientDataOf(type: string, challenge: string, from: string) {
    return Buffer.from(JSON.stringify({ type, challenge, origin: from, crossOrigin: false }))
  }

  function authDataOf(rpId: string, flags: number, credential: Buffer = Buffer.alloc(0)): Buffer {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), count, credential])
  }

  return {
    id,
    /** Sets the number of signatures, as a copy of the key would have it. */
    setCounter(to: number) {
      counter = to
    },
    /** The answer of `navigator.credentials.create`. */
    create({ challenge, rp }: Options, from = origin) {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(credentialId.length)
      const coordinates = [x, y].map((one) => Buffer.from(one, 'base64url'))
      // COSE (RFC 9053): EC2, ES256, P-256.
      const key = cborMap([
        [cborInt(1), cborInt(2)],
        [cborInt(3), cborInt(-7)],
        [cborInt(-1), cborInt(1)],
        [cborInt(-2), cborBytes(coordinates[0])],
        [cborInt(-3), cborBytes(coordinates[1])],
      ])
      const attested = Buffer.concat([Buffer.alloc(16), length, credentialId, key])
      const flags = USER_PRESENT | USER_VERIFIED | HAS_CREDENTIAL
      const attestationObject = cborMap([
        [cborText('fmt'), cborText('none')],
        [cborText('attStmt'), cborMap([])],
        [cborText('authData'), cborBytes(authDataOf(rp?.id ?? '', flags, attested))],
      ])
      const clientDataJSON = clientDataOf('webauthn.create', challenge, from)
      return {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: {
          clientDataJSON: clientDataJSON.toString('base64url'),
          attestationObject: attestationObject.toString('base64url'),
          transports: ['internal'],
        },
      }
    },
    /** The answer of `navigator.credentials.get`. `verifies`: checks the person. */
    get(
      { challenge, rpId = '' }: Options,
      { verifies = true, from = origin }: { verifies?: boolean; from?: string } = {},
    ) {
      counter += 1
      const authData = authDataOf(rpId, USER_PRESENT | (verifies ? USER_VERIFIED : 0))
      const clientDataJSON = clientDataOf('webauthn.get', challenge, from)
      const signed = Buffer.concat([authData, sha256(clientDataJSON)])
      return {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: {
          clientDataJSON: clientDataJSON.toString('base64url'),
          authenticatorData: authData.toString('base64url'),
          signature: sign('sha256', signed, privateKey).toString('base64url'),
        },
      }
    },
  }
}

function sha256(bytes: Buffer | string): Buffer {
  return createHash('sha256').update(bytes).digest()
}

/** The head of a value (RFC 8949, 3). */
function cborHead(major: number, n: number): Buffer {
  if (n < 24) return Buffer.from([(major << 5) | n])
  if (n < 256) return Buffer.from([(major << 5) | 24, n])
  return Buffer.from([(major << 5) | 25, n >> 8, n & 255])
}

function cborInt(n: number): Buffer {
  return n < 0 ? cborHead(1, -1 - n) : cborHead(0, n)
}

function cborBytes(bytes: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([cborHead(2, bytes.length), bytes])
}

function cborText(text: string): Buffer {
  return Buffer.concat([cborHead(3, text.length), Buffer.from(text)])
}

function cborMap(entries: [Buffer, Buffer][]): Buffer {
  return Buffer.concat([cborHead(5, entries.length), ...entries.flat()])
}
