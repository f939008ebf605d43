import { ask, type Stage } from './client.ts'
import { elapsedMs } from './clock.ts'
import type { Domain } from './model.ts'
import type { Doing } from './script.ts'

/** An owner changes a domain or its records, or asks the service to look for them. */
export async function changeDomain(stage: Stage, { which, how }: Doing<'domain'>): Promise<void> {
  const { world, model } = stage
  const domain = model.domains[which % model.domains.length] as Domain
  const place = model.places[domain.place]
  if (!place) return
  const at = `${how} ${domain.name} of ${domain.place}`
  const { zone } = model
  if (how === 'unpublish' || how === 'falsify' || how === 'silence') {
    world.trace(at)
    model.zone_changes += 1
    if (how === 'silence') zone.silent.add(domain.name)
    for (const name of zone.records.keys()) {
      if (!name.endsWith(domain.name) || how === 'silence') continue
      if (how === 'unpublish') zone.records.delete(name)
      else zone.records.set(name, 'v=DKIM1; k=rsa; p=another')
    }
    return
  }
  const changes = model.zone_changes
  const { state: before } = domain.usable
  domain.usable.begin()
  const answer = await ask(stage, at, async (core) => {
    const { id } = domain
    if (how === 'verify') return core.domains.verify(place.id, id)
    if (how === 'rotate') return core.domains.rotate(place.id, id)
    if (how === 'publish') return core.domains.get(place.id, id)
    if (how === 'add') return core.domains.create(place.id, { domain: domain.name })
    await core.domains.delete(place.id, id)
    return null
  })
  if (answer === null) {
    // A domain that may have been added has an unknown id.
    if (how === 'add') domain.isLost = true
    return domain.usable.end(how === 'publish' || how === 'rotate' ? before : 'unknown')
  }
  if ('code' in answer) return domain.usable.end(before)
  const shown = answer.value
  world.trace(`${at}: ${shown?.status ?? 'gone'}`)
  if (how === 'remove') {
    domain.usable.end('no')
    domain.since_ms = elapsedMs()
    return
  }
  if (!shown) return
  if (how === 'add') {
    domain.id = shown.id
    domain.isLost = false
  }
  if (how === 'publish') {
    model.zone_changes += 1
    zone.silent.delete(domain.name)
    for (const { name, value } of shown.records) zone.records.set(name, value)
  }
  // A domain whose record is gone may be used for three days more.
  const isUsable = shown.status === 'verified' || shown.status === 'failing'
  domain.usable.end(how === 'verify' ? (isUsable ? 'yes' : 'no') : before)
  domain.since_ms = elapsedMs()
  if (how !== 'verify' || changes !== model.zone_changes) return
  const key = shown.records.find(({ purpose }) => purpose === 'dkim')
  const isPublished = key !== undefined && zone.records.get(key.name) === key.value
  const isSilent = [...zone.silent].some((name) => domain.name.endsWith(name))
  if (!isSilent && isPublished !== (shown.status === 'verified')) {
    world.violate('a domain is verified by its record', `${at}: ${JSON.stringify(shown)}`)
  }
}
