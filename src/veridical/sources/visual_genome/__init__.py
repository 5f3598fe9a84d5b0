"""Visual Genome: photographs with objects, attributes, regions and relationships (Krishna et al. 2017)."""
