import type { ComponentChildren } from 'preact'

/** The heading of a page; `children` are its main actions. */
export function PageHead({
  title,
  text,
  children,
}: {
  title: string
  text?: ComponentChildren
  children?: ComponentChildren
}) {
  return (
    <header class="page-head">
      <div>
        <h1>
          <bdi>{title}</bdi>
        </h1>
        {text && (
          <p>
            <bdi>{text}</bdi>
          </p>
        )}
      </div>
      {children && <div class="actions">{children}</div>}
    </header>
  )
}
