import { z } from 'zod';

/**
 * Kinds that are not Kubernetes' own: KEDA's ScaledObject (2.14) and kustomize's two, with the
 * fields that deploy/kubernetes uses and no others, so that a misspelled one is refused.
 */

const name = z.string().regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
const whole = z.int().min(0);
const strictObject = z.strictObject;
const scalingRules = strictObject({ stabilizationWindowSeconds: whole.max(3_600) }).partial();

/** Of the trigger `metrics-api`: all values are texts. */
const metricsApi = strictObject({
  type: z.literal('metrics-api'),
  metadata: strictObject({
    url: z.url(),
    format: z.enum(['json', 'xml', 'yaml', 'prometheus']),
    valueLocation: z.string().min(1),
    targetValue: z.string().regex(/^\d+(\.\d+)?$/),
  }),
});

const scaledObject = strictObject({
  apiVersion: z.literal('keda.sh/v1alpha1'),
  kind: z.literal('ScaledObject'),
  metadata: strictObject({ name }),
  spec: strictObject({
    scaleTargetRef: strictObject({ name }),
    minReplicaCount: whole,
    maxReplicaCount: whole,
    pollingInterval: whole.min(1),
    cooldownPeriod: whole,
    advanced: strictObject({
      horizontalPodAutoscalerConfig: strictObject({
        behavior: strictObject({ scaleUp: scalingRules, scaleDown: scalingRules }).partial(),
      }),
    }).optional(),
    triggers: z.array(metricsApi).min(1),
  }).refine(({ minReplicaCount, maxReplicaCount }) => minReplicaCount <= maxReplicaCount, 'min above max'),
});

const literal = z.string().regex(/^[\w.-]+=/, 'expected NAME=value');
const ofKustomize = {
  namespace: name,
  resources: z.array(z.string()),
  components: z.array(z.string()),
  labels: z.array(strictObject({ pairs: z.record(z.string(), z.string()), includeSelectors: z.boolean().optional() })),
  images: z.array(strictObject({ name: z.string(), newName: z.string(), newTag: z.coerce.string() }).partial()),
  configMapGenerator: z.array(
    strictObject({ name, files: z.array(z.string()).optional(), literals: z.array(literal).optional() }),
  ),
  secretGenerator: z.array(strictObject({ name, literals: z.array(literal) })),
};
const kustomization = strictObject(ofKustomize)
  .partial()
  .extend({
    apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
    kind: z.literal('Kustomization'),
  });
const component = strictObject(ofKustomize)
  .partial()
  .extend({
    apiVersion: z.literal('kustomize.config.k8s.io/v1alpha1'),
    kind: z.literal('Component'),
  });

export const foreignKind = z.discriminatedUnion('kind', [scaledObject, kustomization, component]);
