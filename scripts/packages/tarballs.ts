import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { type Manifest, publishedManifest } from './manifest.ts'

/** A published package. */
export interface Tarball {
  readonly manifest: Manifest
  /** The `.tgz`. */
  readonly file: string
  /** Bytes: of the tarball, and of its contents. */
  readonly size: number
  readonly unpacked: number
  /** The paths of its files. */
  readonly files: readonly string[]
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** In the order of their dependencies. */
const PACKAGES = ['client', 'core', 'server', 'testkit', 'cli']

/** Never published, for any `files`; skipped here so that no large folder is copied. */
const NEVER = new Set(['node_modules', 'src', 'test'])

/**
 * Makes the tarballs of all packages in `folder` from the builds in `dist`. The tests install the same bytes that are
 * published.
 */
export async function packAll(folder: string): Promise<Tarball[]> {
  mkdirSync(folder, { recursive: true })
  const stage = mkdtempSync(join(tmpdir(), 'svc-pack-'))
  try {
    return await Promise.all(PACKAGES.map((name) => pack(name, { stage, folder })))
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

async function pack(
  name: string,
  { stage, folder }: { stage: string; folder: string },
): Promise<Tarball> {
  const source = join(ROOT, 'packages', name)
  const copy = join(stage, name)
  for (const entry of readdirSync(source)) {
    if (!NEVER.has(entry)) cpSync(join(source, entry), join(copy, entry), { recursive: true })
  }
  if (!existsSync(join(copy, 'dist'))) throw new Error(`packages/${name} is not built`)
  const manifest = publishedManifest(readManifest(source), catalog())
  writeFileSync(join(copy, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const { stdout } = await promisify(execFile)('npm', args, { cwd: copy, maxBuffer: 8_000_000 })
  const [packed] = JSON.parse(stdout) as Packed[]
  if (!packed) throw new Error(`npm packed nothing for ${name}`)
  return {
    manifest,
    file: join(folder, packed.filename),
    size: packed.size,
    unpacked: packed.unpackedSize,
    files: packed.files.map(({ path }) => path),
  }
}

/** The output of `npm pack --json`. */
interface Packed {
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

function catalog(): Record<string, string> {
  const text = readFileSync(join(ROOT, 'pnpm-workspace.yaml'), 'utf8')
  return (parse(text) as { catalog: Record<string, string> }).catalog
}
