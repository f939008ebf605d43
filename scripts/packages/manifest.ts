/** A package's `package.json`: what is read of it here. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly [field: string]: unknown
}

/** What only the repository needs: tools, their settings, and the condition under which sources are loaded. */
const OURS_ALONE = new Set(['devDependencies', 'scripts'])
const SOURCE = 'source'

/**
 * A package's `package.json` as it is published. The repository names each dependency in one version, which its tests ran
 * with (`catalog`); users get the range of what is compatible with it, so that they share `fastify` or `zod` with their
 * own program and get repairs without a release of ours. Packages of ours are released together, and fit only each other.
 * @throws Error for a dependency whose version is not known.
 */
export function publishedManifest(
  manifest: Manifest,
  catalog: Readonly<Record<string, string>>,
): Manifest {
  const kept = Object.entries(manifest).filter(([field]) => !OURS_ALONE.has(field))
  const published: Record<string, unknown> = Object.fromEntries(kept)
  const { dependencies, exports, peerDependenciesMeta } = manifest
  if (dependencies) {
    published.dependencies = Object.fromEntries(
      Object.entries(dependencies).map(([name, range]) => [
        name,
        rangeOf(name, range, { version: manifest.version, catalog }),
      ]),
    )
  }
  if (peerDependenciesMeta) {
    published.peerDependencies = Object.fromEntries(
      Object.keys(peerDependenciesMeta).map((name) => [
        name,
        name.startsWith('@svc/') ? manifest.version : '*',
      ]),
    )
  }
  if (exports) {
    published.exports = Object.fromEntries(
      Object.entries(exports).map(([path, target]) => [path, withoutSource(target)]),
    )
  }
  return published as Manifest
}

function rangeOf(
  name: string,
  range: string,
  { version, catalog }: { version: string; catalog: Readonly<Record<string, string>> },
): string {
  if (range === 'workspace:*') return version
  const tested = range === 'catalog:' ? catalog[name] : undefined
  if (tested === undefined) throw new Error(`${name}: ${range} is not known outside the repository`)
  return `^${tested}`
}

function withoutSource(
  target: string | Readonly<Record<string, string>>,
): string | Record<string, string> {
  if (typeof target === 'string') return target
  return Object.fromEntries(Object.entries(target).filter(([condition]) => condition !== SOURCE))
}
