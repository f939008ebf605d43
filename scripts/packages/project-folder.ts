import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Project } from './projects.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The guides with the code blocks of projects. */
const GUIDES = ['embed-core.md', 'add-a-provider.md'].map((name) => join(ROOT, 'docs/guides', name))

/** Makes the folder of a project, before any install. */
export function createProjectFolder(
  project: Project,
  { parent, registry }: { parent: string; registry: string },
): string {
  const folder = mkdtempSync(join(parent, `${project.manager}-`))
  const manifest = { name: 'example-program', private: true, type: 'module' }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  const copied = project.folders.map((name) => join('test/packages', name))
  if (project.example !== undefined) copied.push(join('examples', project.example))
  for (const path of copied) cpSync(join(ROOT, path), folder, { recursive: true, filter: isSource })
  writeFileSync(join(folder, '.npmrc'), `@svc:registry=${registry}\n`)
  for (const [file, block] of Object.entries(project.blocks ?? {})) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), codeBlock(block))
  }
  if (project.everything !== undefined) {
    const names = readFileSync(join(ROOT, 'test/exports.txt'), 'utf8')
    writeFileSync(join(folder, project.everything), everything(names))
  }
  return folder
}

/** Leaves out what a developer installed or built in the folder of an example. */
function isSource(path: string): boolean {
  return !/[/\\](?:node_modules|\.next|next-env\.d\.ts)$/.test(path)
}

/** The named JavaScript block of a guide. @throws Error when it is missing. */
function codeBlock(name: string): string {
  const pages = GUIDES.map((guide) => readFileSync(guide, 'utf8')).join('\n')
  const code = new RegExp(`^\`\`\`js ${name}\\n(.*?)^\`\`\``, 'ms').exec(pages)?.[1]
  if (code === undefined) throw new Error(`no code block ${name} in ${GUIDES.join(', ')}`)
  return code
}

/** A module that fails to compile when a name of the list is not exported, or is a type instead of a value. */
export function everything(list: string): string {
  const lines = list.split('\n')
  let entry = ''
  return lines
    .flatMap((line, i) => {
      if (line.startsWith('@')) entry = line
      const [, kind, name] = /^ {2}(value|type) (\w+)$/.exec(line) ?? []
      if (kind === undefined) return []
      const keyword = kind === 'type' ? 'type ' : ''
      return [`export ${keyword}{ ${name} as export_${i} } from '${entry}'\n`]
    })
    .join('')
}
