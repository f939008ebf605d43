import type { ListedTemplateVersion, Template } from '@svc/client'
import { useMemo, useState } from 'preact/hooks'
import {
  Badge,
  Button,
  type Column,
  Dialog,
  ListPage,
  Loaded,
  Time,
  toast,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { useLoad } from '../../shell/load.ts'
import { query } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { type Edited, editedOf, isSame, linesOf } from './edited.ts'

/** The versions of a template: each can be compared with the draft, and published again. */
export function Versions({
  template: { name, version: latest },
  draft,
  onPublished,
}: {
  template: Template
  draft: Edited
  onPublished(template: Template): void
}) {
  const after = query.value.get('after') ?? undefined
  const [chosen, setChosen] = useState<number>()
  const load = useLoad(
    (signal) => api.templates.versions(name, { limit: 10, ...(after && { after }) }, { signal }),
    [name, latest, after],
  )
  const columns: readonly Column<ListedTemplateVersion>[] = [
    {
      name: t('Version'),
      kind: 'main',
      value: ({ version }) => (
        <>
          {t('Version {version}', { version })}{' '}
          {version === latest && <Badge tone="good">{t('in use')}</Badge>}
        </>
      ),
    },
    { name: t('Published'), value: ({ published_at }) => <Time at={published_at} exact /> },
  ]
  return (
    <section>
      <h2 class="section">{t('Versions')}</h2>
      <ListPage
        of={load}
        rowsOf={(answer) => answer.versions}
        label={t('Versions')}
        columns={columns}
        keyOf={({ version }) => String(version)}
        actions={({ version }) => (
          <Button onClick={() => setChosen(version)}>{t('Compare with the draft')}</Button>
        )}
        noun="version"
        empty={null}
      />
      {chosen !== undefined && (
        <Compare
          title={t('Version {version}', { version: chosen })}
          text={
            chosen === latest
              ? t(
                  'Messages use this version. Lines in red are only in your draft, lines in green only in the version.',
                )
              : t(
                  'Lines in red are only in your draft, lines in green only in the version. Published again, it takes the place of the draft and gets a new number.',
                )
          }
          name={name}
          from={draft}
          to={chosen}
          {...(chosen !== latest && { action: t('Publish version {chosen} again', { chosen }) })}
          onPublished={onPublished}
          onClose={() => setChosen(undefined)}
        />
      )}
    </section>
  )
}

/** Shows what differs between two texts, and publishes the second one. A number is a version, null none. */
export function Compare({
  title,
  text,
  name,
  from,
  to,
  action,
  onPublished,
  onClose,
}: {
  title: string
  text: string
  name: string
  from: Edited | number | null
  to: Edited | number
  /** The text of the button that publishes; absent: there is none. */
  action?: string
  /** Gets the stored template, after it was published or was found changed. */
  onPublished(template: Template): void
  onClose(): void
}) {
  const load = useLoad(
    (signal) =>
      Promise.all([from, to].map((one) => formOf(name, one, signal))).then(([before, after]) => ({
        before,
        after,
      })),
    [name, from, to],
  )
  async function publish() {
    const body = typeof to === 'number' ? { version: to } : {}
    if (typeof to !== 'number') {
      const now = (await api.templates.get(name)).template
      if (!isSame(editedOf(now), to)) {
        onPublished(now)
        toast(t('The draft changed meanwhile. Look at the lines again.'))
        return
      }
    }
    const { version } = await api.templates.publish(name, body)
    onPublished((await api.templates.get(name)).template)
    toast(t('Version {version} is published', { version: version.version }))
    onClose()
  }
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        action &&
        may('send') && (
          <>
            <Button onClick={onClose}>{t('Cancel')}</Button>
            <Button kind="primary" disabled={!load.data} onClick={publish}>
              {action}
            </Button>
          </>
        )
      }
    >
      <div class="stack">
        <p>{text}</p>
        <Loaded of={load}>
          {({ before, after }) => (
            <Changes before={before ? linesOf(before) : []} after={after ? linesOf(after) : []} />
          )}
        </Loaded>
      </div>
    </Dialog>
  )
}

async function formOf(name: string, one: Edited | number | null, signal: AbortSignal) {
  if (typeof one !== 'number') return one
  return editedOf((await api.templates.version(name, String(one), { signal })).version)
}

/** The unchanged lines around a change that are shown, and the most lines of all. */
const AROUND = 2
const SHOWN_MAX = 1_000

function Changes({ before, after }: { before: readonly string[]; after: readonly string[] }) {
  const lines = useMemo(() => differenceOf(before, after), [before, after])
  const near = new Set<number>()
  for (const [i, [sign]] of lines.entries()) {
    if (sign !== ' ') for (let at = i - AROUND; at <= i + AROUND; at++) near.add(at)
  }
  if (near.size === 0) return <p class="muted">{t('Nothing differs.')}</p>
  const shown = [...lines.entries()].filter(([i]) => near.has(i))
  return (
    <pre class="changes">
      {shown.slice(0, SHOWN_MAX).flatMap(([i, [sign, line]], at) => {
        const Line = sign === '+' ? 'ins' : sign === '-' ? 'del' : 'span'
        return [
          at > 0 && !near.has(i - 1) && <span key={-i}>…</span>,
          <Line key={i}>
            {sign} {line}
          </Line>,
        ]
      })}
      {shown.length > SHOWN_MAX && <span>…</span>}
    </pre>
  )
}

type Line = readonly [sign: ' ' | '+' | '-', text: string]

/** The most comparisons of lines: some 10 ms. More lines that differ are shown as removed and added together. */
const COMPARISONS_MAX = 1_000_000

/** The lines of two texts, in order, with what became of them: the longest common part stays. */
function differenceOf(before: readonly string[], after: readonly string[]): Line[] {
  const same = (text: string): Line => [' ', text]
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const max = Math.min(before.length, after.length) - start
  while (end < max && before.at(-1 - end) === after.at(-1 - end)) end++
  const middle = between(
    before.slice(start, before.length - end),
    after.slice(start, after.length - end),
  )
  return [
    ...before.slice(0, start).map(same),
    ...middle,
    ...before.slice(before.length - end).map(same),
  ]
}

function between(before: readonly string[], after: readonly string[]): Line[] {
  const width = after.length + 1
  if (before.length * after.length > COMPARISONS_MAX) {
    return [...before.map((text): Line => ['-', text]), ...after.map((text): Line => ['+', text])]
  }
  // The length of the longest common part of the rests that begin at line i and line j.
  const common = new Uint32Array((before.length + 1) * width)
  const at = (i: number, j: number) => common[i * width + j] ?? 0
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      common[i * width + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: Line[] = []
  let i = 0
  let j = 0
  while (i < before.length || j < after.length) {
    const [one, other] = [before[i], after[j]]
    if (one !== undefined && one === other) {
      lines.push([' ', one])
      i++
      j++
    } else if (one !== undefined && (other === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(['-', one])
      i++
    } else {
      lines.push(['+', other ?? ''])
      j++
    }
  }
  return lines
}
