import { readFile, stat } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { isLoopback } from '@svc/core/contract'
import type { SmtpAddress } from '../../settings/readers.ts'
import { ConfigError } from '../../settings/variables.ts'

/** The files of a certificate with its chain, and of its key. */
export interface CertificateFiles {
  cert: string
  key: string
}

/** A certificate in PEM. */
export interface Certificate {
  cert: Buffer
  key: Buffer
}

interface Log {
  info(fields: object, text: string): void
  error(fields: object, text: string): void
}

/**
 * Reads a certificate. @throws ConfigError if a file cannot be read, or the key does not belong to the certificate.
 */
async function readCertificate({ cert, key }: CertificateFiles): Promise<Certificate> {
  const read = async (file: string, setting: string) => {
    try {
      return await readFile(file)
    } catch (error) {
      throw new ConfigError(`${setting}: ${(error as Error).message}`)
    }
  }
  const certificate = {
    cert: await read(cert, 'SVC_SMTP_TLS_CERT'),
    key: await read(key, 'SVC_SMTP_TLS_KEY'),
  }
  try {
    createSecureContext(certificate)
  } catch {
    // The library's text may contain parts of the key.
    throw new ConfigError(
      `SVC_SMTP_TLS_CERT, SVC_SMTP_TLS_KEY: ${cert} and ${key} are not a certificate and its key in PEM`,
    )
  }
  return certificate
}

/**
 * The certificate of an inlet; null if it needs none.
 * @throws ConfigError for an address that other machines can reach without a certificate, or a wrong certificate.
 */
export async function inletCertificate({
  addresses,
  certificate,
}: {
  addresses: readonly SmtpAddress[]
  certificate: CertificateFiles | null
}): Promise<Certificate | null> {
  const needing = addresses.find(({ host, implicit_tls }) => implicit_tls || !isLoopback(host))
  if (certificate) return readCertificate(certificate)
  if (!needing) return null
  throw new ConfigError(
    `SVC_SMTP_TLS_CERT and SVC_SMTP_TLS_KEY must be set: clients of ${needing.host}:${needing.port} send API keys`,
  )
}

/**
 * Calls `use` with the new certificate after a file has changed. A wrong new certificate is logged, and the last one
 * stays. Returns the function that ends this.
 */
export function watchCertificate(
  files: CertificateFiles,
  { check_ms, log, use }: { check_ms: number; log: Log; use: (certificate: Certificate) => void },
): () => void {
  let last: string | null = null
  let isChecking = false
  const check = async () => {
    if (isChecking) return
    isChecking = true
    try {
      const version = await versionOf(files)
      const isNew = last !== null && version !== last
      last = version
      if (!isNew) return
      use(await readCertificate(files))
      log.info({}, 'the certificate of the SMTP inlet was read again')
    } catch (error) {
      log.error({ err: error }, 'the certificate of the SMTP inlet could not be read again')
    } finally {
      isChecking = false
    }
  }
  void check()
  const timer = setInterval(check, check_ms).unref()
  return () => clearInterval(timer)
}

async function versionOf({ cert, key }: CertificateFiles): Promise<string> {
  const states = await Promise.all([stat(cert), stat(key)])
  return states.map(({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`).join(' ')
}
