import { createHash, createPublicKey, createVerify } from 'node:crypto'

/** The tags of a signature, and whether it is valid. */
export interface DkimVerdict {
  holds: boolean
  /** The names of `h=`, lower-case. */
  signed: string[]
  domain: string
  selector: string
}

/**
 * Verifies the one `DKIM-Signature` of a mail with this key in place of DNS: `rsa-sha256`, relaxed/relaxed, the whole body.
 * Source: only RFC 6376 (sections 3.4.2, 3.4.4, 3.5, 3.7, 5.4.2).
 */
export function verifyDkim(raw: string, public_key: string): DkimVerdict {
  const end = raw.indexOf('\r\n\r\n')
  const fields = raw.slice(0, end).split(/\r\n(?![ \t])/)
  const own = fields.filter((field) => nameOf(field) === 'dkim-signature')
  const [signature, ...others] = own
  if (signature === undefined || others.length > 0) throw new Error(`${own.length} signatures`)
  const tags = tagsOf(signature)
  if (tags.a !== 'rsa-sha256' || tags.c !== 'relaxed/relaxed' || tags.l !== undefined) {
    throw new Error('a signature of another kind')
  }
  const body = createHash('sha256')
    .update(relaxedBody(raw.slice(end + 4)), 'latin1')
    .digest('base64')
  const signed = (tags.h ?? '').split(':').map((name) => name.trim().toLowerCase())
  const left = [...fields]
  const lines = signed.flatMap((name) => {
    // Of fields of one name the lowest is signed first.
    const at = left.findLastIndex((field) => nameOf(field) === name)
    return at < 0 ? [] : left.splice(at, 1).map((field) => `${relaxedField(field)}\r\n`)
  })
  const unsigned = relaxedField(signature).replace(/([:;]\s*b=)[^;]*/, '$1')
  const isSigned = createVerify('RSA-SHA256')
    .update(lines.join('') + unsigned, 'latin1')
    .verify(createPublicKey(public_key), Buffer.from(tags.b ?? '', 'base64'))
  return {
    holds: isSigned && body === tags.bh,
    signed,
    domain: tags.d ?? '',
    selector: tags.s ?? '',
  }
}

function nameOf(field: string): string {
  return field.slice(0, field.indexOf(':')).trim().toLowerCase()
}

function tagsOf(field: string): Record<string, string | undefined> {
  const list = field.slice(field.indexOf(':') + 1).replace(/\s+/g, '')
  return Object.fromEntries(
    list
      .split(';')
      .filter((tag) => tag !== '')
      .map((tag) => [tag.slice(0, tag.indexOf('=')), tag.slice(tag.indexOf('=') + 1)]),
  )
}

function relaxedField(field: string): string {
  const value = field.slice(field.indexOf(':') + 1)
  return `${nameOf(field)}:${value
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim()}`
}

function relaxedBody(body: string): string {
  const text = body
    .split('\r\n')
    .map((line) => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''))
    .join('\r\n')
    .replace(/(\r\n)+$/, '')
  return text === '' ? '' : `${text}\r\n`
}
