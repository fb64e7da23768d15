// Raw colours and sizes live in the token files only (style/sizes.css, style/server/sizes.css and one file per theme); the page names tokens.
const raw = [/#[0-9a-f]{3,8}\b/i, /\b(?:rgb|hsl|oklch|lab)a?\(/, /\b\d*\.?\d+(?:px|rem|em|pt)\b/];
const colours = "a raw colour or size: name a token of style/sizes.css or of the themes";

export default {
  rules: {
    "block-no-empty": true,
    "color-named": "never",
    "custom-property-no-missing-var-function": true,
    "declaration-block-no-duplicate-properties": true,
    "property-no-unknown": true,
    "selector-max-id": 0,
    "declaration-property-value-disallowed-list": [{ "/^(?!--)/": raw }, { message: () => colours }],
  },
  overrides: [
    {
      files: ["style/light.css", "style/dark.css", "style/sizes.css", "style/server/sizes.css"],
      rules: { "declaration-property-value-disallowed-list": null },
    },
  ],
};
