/** Fields by lower-case name; of a name that is given twice, the first. */
export type Fields = ReadonlyMap<string, string>

const GROUPS_MAX = 100
const FIELDS_MAX = 64
const VALUE_LENGTH_MAX = 2_000
const TEXT_LENGTH_MAX = 64 * 1024

/**
 * Reads what a report says in groups of fields that blank lines part, as `message/delivery-status` does (RFC 3464,
 * section 2.1) and `message/feedback-report` with its one group (RFC 5965, section 3). Folded lines are joined. What
 * is no field is passed over, and what is beyond all measure is cut off.
 */
export function readFieldGroups(text: string): Fields[] {
  const groups: Map<string, string>[] = []
  let group: Map<string, string> | null = null
  let name = ''
  for (const line of text.slice(0, TEXT_LENGTH_MAX).split(/\r\n|\n|\r/)) {
    if (line.trim() === '') {
      group = null
      continue
    }
    if (/^[ \t]/.test(line)) {
      const value = group?.get(name)
      if (value !== undefined) group?.set(name, joined(value, line))
      continue
    }
    const colon = line.indexOf(':')
    name = colon < 1 ? '' : line.slice(0, colon).trim().toLowerCase()
    if (name === '') continue
    if (group === null) {
      if (groups.length === GROUPS_MAX) break
      group = new Map()
      groups.push(group)
    }
    // What follows, folded, belongs to nothing then.
    if (group.has(name) || group.size === FIELDS_MAX) name = ''
    else group.set(name, joined('', line.slice(colon + 1)))
  }
  return groups
}

function joined(value: string, more: string): string {
  return `${value} ${more.trim()}`.trim().slice(0, VALUE_LENGTH_MAX)
}
