import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { Runtime } from '../runtime/runtime.ts'

/** A key pair for DKIM signatures (RFC 6376). */
export interface DomainKey {
  /** The key is published at `<selector>._domainkey.<domain>`. */
  selector: string
  /** PEM (PKCS #8). */
  private_key: string
  /** Base64 (SPKI), as in the record. */
  public_key: string
}

/** Receivers must verify 2048 bits (RFC 8301). A record with a longer key exceeds the UDP limit of old resolvers. */
const RSA_BITS = 2048

const generate = promisify(generateKeyPair)

/** Makes a key pair in a thread of the pool: it takes about 100 ms. The random selector is never used twice. */
export async function mintDomainKey(bytes: Runtime['bytes']): Promise<DomainKey> {
  const pair = await generate('rsa', {
    modulusLength: RSA_BITS,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return {
    selector: `svc${bytes(4).toString('hex')}`,
    private_key: pair.privateKey,
    public_key: pair.publicKey.toString('base64'),
  }
}
