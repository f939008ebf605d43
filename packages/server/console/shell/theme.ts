// A script without a module, which the browser runs before it paints the page: a module would run after that.
{
  let theme: string | null = null
  try {
    theme = localStorage.getItem('svc.theme')
  } catch {
    // A browser without storage has the colours of its system.
  }
  if (theme === 'light' || theme === 'dark') {
    document
      .querySelector('link[media]')
      ?.setAttribute('media', theme === 'dark' ? 'screen' : 'not all')
    document.querySelector('meta[name=color-scheme]')?.setAttribute('content', theme)
  }
}
