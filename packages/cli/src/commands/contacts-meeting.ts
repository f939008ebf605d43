/** A contact of a file, and its position. */
export interface Imported {
  contact: Record<string, unknown>
  index: number
}

/** The fields that identify a contact. */
const NAMING = ['phone', 'email', 'external_id'] as const

type Named = Readonly<Partial<Record<(typeof NAMING)[number], unknown>>>

/**
 * Divides contacts into parts, so that no import of a part changes what the import of another part does: contacts that share a
 * phone number, an e-mail address or an id, also through a stored contact, are in one part, in their order. A part has about
 * `usual` contacts, and at most `max`, which only a file with so many rows of one person needs.
 */
export function meetingParts(
  contacts: readonly Imported[],
  stored: readonly Named[],
  { usual, max }: { usual: number; max: number },
): Imported[][] {
  const parents = new Map<string, string>()
  for (const one of stored) join(keysOf(one))
  for (const { contact } of contacts) join(keysOf(contact))
  const groups = new Map<string, Imported[]>()
  for (const one of contacts) {
    const [key] = keysOf(one.contact)
    const root = key === undefined ? `row ${one.index}` : rootOf(key)
    const group = groups.get(root)
    if (group) group.push(one)
    else groups.set(root, [one])
  }
  const parts: Imported[][] = []
  let part: Imported[] = []
  for (const group of groups.values()) {
    if (part.length > 0 && part.length + group.length > usual) {
      parts.push(part)
      part = []
    }
    for (const one of group) {
      if (part.push(one) < max) continue
      parts.push(part)
      part = []
    }
  }
  if (part.length > 0) parts.push(part)
  return parts

  function join([first, ...others]: string[]): void {
    if (first === undefined) return
    for (const other of others) parents.set(rootOf(other), rootOf(first))
  }

  function rootOf(key: string): string {
    let root = key
    for (let up = parents.get(root); up !== undefined && up !== root; up = parents.get(root))
      root = up
    // Shortens the way for the next time.
    for (let at = key; at !== root; ) {
      const up = parents.get(at) as string
      parents.set(at, root)
      at = up
    }
    return root
  }
}

/** The service compares e-mail addresses without case, and keys that differ more than it thinks do no harm here. */
function keysOf(contact: Named): string[] {
  return NAMING.flatMap((field) => {
    const value = contact[field]
    return typeof value === 'string' ? `${field} ${value.trim().toLowerCase()}` : []
  })
}
